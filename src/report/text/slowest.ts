import { time } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { formatEnd } from '../slowest.js';
import { cutName } from './cut-name.js';
import type { Sheet } from './sheet.js';

/** Formats the slowest requests with their trace ids; empty where no request has one. */
export function formatSlowest({ slowest = [] }: LoadResult, sheet: Sheet): string[] {
  if (slowest.length === 0) return [];
  const rows = slowest.map((one) => [one.traceId, time(one.latencyMs), formatEnd(one), one.name]);
  const width = (at: number) => Math.max(...rows.map((row) => row[at]?.length ?? 0));
  const [times, ends] = [width(1), width(2)];
  const left = sheet.width - 32 - times - ends - 6;
  return [
    sheet.paint('dim', 'the slowest requests with a trace, by trace id'),
    ...rows.map(([id = '', latency = '', end = '', name = '']) =>
      `${id}  ${latency.padStart(times)}  ${end.padEnd(ends)}  ${left > 1 ? cutName(name, left) : ''}`.trimEnd(),
    ),
  ];
}
