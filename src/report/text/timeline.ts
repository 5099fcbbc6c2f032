import { bytes, cores, plural, rate, time } from '../../format/units.js';
import type { LoadResult, ServerResult } from '../../load/result.js';
import { groupWindows, thinSamples } from '../intervals.js';
import { drawSparkline } from './bars.js';
import { computeValueWidth, formatField, type Sheet } from './sheet.js';

/** Width of the scale to the right of a sparkline. */
const SCALE_WIDTH = 24;

/** Formats throughput, p99 and the server's CPU and memory over the same time axis. */
export function formatTimeline(result: LoadResult, sheet: Sheet): string[] {
  const points = groupWindows(result, countCells(sheet));
  const completed = points.map((point) => point.completed);
  const p99s = points.map((point) => point.highestP99Ms);
  const lines = [
    ...formatSparkline(sheet, 'over time', completed, (highest) => `0 to ${rate(highest)} req/s`),
    ...formatSparkline(sheet, 'highest p99', p99s, (highest) => `0 to ${time(highest)}`),
  ];
  return result.server ? [...lines, ...formatServer(result.server, sheet)] : lines;
}

function formatServer(server: ServerResult, sheet: Sheet): string[] {
  const source = { command: 'started', pid: 'given', 'port-owner': 'found by its port' };
  const who = `${server.command} (pid ${server.pid}, ${source[server.source]}, ${plural(server.processes, 'process', 'processes')})`;
  const groups = server.threads.map(({ group, cpu }) => `${group} ${cores(cpu)}`);
  const cpu = `${cores(server.cpuMean)} cores on average: ${groups.join(', ')}`;
  const samples = thinSamples(server, countCells(sheet));
  const cpus = samples.map((sample) => sample.cpu);
  const memory = samples.map((sample) => sample.rssMb);
  return [
    '',
    ...formatField(sheet, 'server', who),
    ...formatField(sheet, 'CPU', cpu),
    ...formatSparkline(sheet, '', cpus, (highest) => `0 to ${cores(highest)} cores`),
    ...formatSparkline(sheet, 'memory', memory, () => `0 to ${bytes(server.rssMaxMb * 1e6)}`),
  ];
}

function formatSparkline(
  sheet: Sheet,
  label: string,
  values: (number | null)[],
  formatScale: (highest: number) => string,
): string[] {
  const highest = Math.max(0, ...values.map((value) => value ?? 0));
  if (highest === 0) return [];
  const [name = ''] = formatField(sheet, label, '');
  return [
    `${name}${sheet.paint('bar', drawSparkline(values, highest))}  ${sheet.paint('dim', formatScale(highest))}`,
  ];
}

function countCells(sheet: Sheet): number {
  return Math.min(60, computeValueWidth(sheet) - SCALE_WIDTH);
}
