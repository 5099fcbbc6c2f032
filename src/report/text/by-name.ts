import { count, plural, rate, share } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { LoadResult, NamedResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import { countFailed } from '../failed.js';
import { cutName } from './cut-name.js';
import type { Sheet } from './sheet.js';

/** Maximum number of names on a terminal; JSON and page contain all. */
const MAX_NAMES = 8;

const SHARE_WIDTH = 8;
const COLUMN_WIDTH = 10;
const FAILED_WIDTH = 9;
const NUMBERS_WIDTH = SHARE_WIDTH + 3 * COLUMN_WIDTH + FAILED_WIDTH;

/** Formats the request names with the most time as a table; empty if there is one name only, or scenarios have steps. */
export function formatByName({ byName = [], steps = [] }: LoadResult, sheet: Sheet): string[] {
  if (byName.length < 2 || steps.length > 0) return [];
  const width = sheet.width - NUMBERS_WIDTH;
  const heads = ['req/s', 'p50', 'p99'].map((head) => head.padStart(COLUMN_WIDTH)).join('');
  const head = `${'by name'.padEnd(width)}${'time'.padStart(SHARE_WIDTH)}${heads}${'failed'.padStart(FAILED_WIDTH)}`;
  const rest = byName.slice(MAX_NAMES);
  return [
    sheet.paint('dim', head),
    ...byName.slice(0, MAX_NAMES).map((one) => formatRow(one, width, sheet)),
    ...(rest.length > 0 ? [sheet.paint('dim', describeRest(rest))] : []),
  ];
}

function formatRow(result: NamedResult, width: number, sheet: Sheet): string {
  const { name, timeShare, throughput, latencyMs } = result;
  const times = (['p50', 'p99'] as const).map((point) =>
    hasResponse(result) ? formatStatistic(latencyMs, point, '≥') : '–',
  );
  const cells = [rate(throughput), ...times].map((cell) => cell.padStart(COLUMN_WIDTH));
  const failed = countFailed(result);
  const failures = count(failed).padStart(FAILED_WIDTH);
  return [
    cutName(name, width - 1).padEnd(width),
    (timeShare === null ? '–' : share(timeShare)).padStart(SHARE_WIDTH),
    ...cells,
    failed > 0 ? sheet.paint('bad', failures) : failures,
  ].join('');
}

function describeRest(rest: NamedResult[]): string {
  const sum = (read: (one: NamedResult) => number) =>
    rest.reduce((total, one) => total + read(one), 0);
  const parts = [
    `${share(sum(({ timeShare }) => timeShare ?? 0))} of the time`,
    plural(
      sum(({ requests }) => requests.sent),
      'request',
    ),
    `${count(sum(countFailed))} failed`,
  ];
  return `and ${plural(rest.length, 'more name', 'more names')}: ${parts.join(', ')}`;
}
