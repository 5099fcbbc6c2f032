import { bytes, cores, plural, rate, time } from '../../format/units.js';
import type { LoadResult, ServerResult } from '../../load/result.js';
import { highestSamples, intervals } from '../intervals.js';
import { sparkline } from './bars.js';
import { field, type Sheet, valueWidth } from './sheet.js';

/** Room behind a sparkline for its scale. */
const scaleWidth = 24;

/** Throughput and p99 over time, and the server's CPU and memory beside them: all on the same time axis. */
export function timelineLines(result: LoadResult, sheet: Sheet): string[] {
  const points = intervals(result, cells(sheet));
  const completed = points.map((point) => point.completed);
  const p99s = points.map((point) => point.highestP99Ms);
  const lines = [
    ...line(sheet, 'over time', completed, (most) => `0 to ${rate(most)} req/s`),
    ...line(sheet, 'highest p99', p99s, (most) => `0 to ${time(most)}`),
  ];
  return result.server ? [...lines, ...serverLines(result.server, sheet)] : lines;
}

function serverLines(server: ServerResult, sheet: Sheet): string[] {
  const source = { command: 'started', pid: 'given', 'port-owner': 'found by its port' };
  const who = `${server.command} (pid ${server.pid}, ${source[server.source]}, ${plural(server.processes, 'process', 'processes')})`;
  const groups = server.threads.map(({ group, cpu }) => `${group} ${cores(cpu)}`);
  const cpu = `${cores(server.cpuMean)} cores on average: ${groups.join(', ')}`;
  const samples = highestSamples(server, cells(sheet));
  const cpus = samples.map((sample) => sample.cpu);
  const memory = samples.map((sample) => sample.rssMb);
  return [
    '',
    ...field(sheet, 'server', who),
    ...field(sheet, 'CPU', cpu),
    ...line(sheet, '', cpus, (most) => `0 to ${cores(most)} cores`),
    ...line(sheet, 'memory', memory, () => `0 to ${bytes(server.rssMaxMb * 1e6)}`),
  ];
}

function line(
  sheet: Sheet,
  label: string,
  values: (number | null)[],
  scale: (most: number) => string,
): string[] {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  if (most === 0) return [];
  const [name = ''] = field(sheet, label, '');
  return [
    `${name}${sheet.paint('bar', sparkline(values, most))}  ${sheet.paint('dim', scale(most))}`,
  ];
}

function cells(sheet: Sheet): number {
  return Math.min(60, valueWidth(sheet) - scaleWidth);
}
