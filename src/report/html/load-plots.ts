import { bytes, cores, duration, rate } from '../../format/units.js';
import type { LoadResult, ServerResult } from '../../load/result.js';
import { selectClocks } from '../distributions/clocks.js';
import {
  computeUnknownShare,
  formatStatistic,
  isSameDistribution,
} from '../distributions/distribution.js';
import { countPerPoint, groupReadableWindows, thinPercentiles, thinSamples } from '../intervals.js';
import type { Series } from './charts/series.js';
import { buildPercentilePlot, type PercentileLine } from './percentile-plot.js';
import { needsLogScale, type Plot } from './plot.js';

/** Maximum number of points of a plot over time: each has some pixels, so that its values can be read. */
const MAX_POINTS = 400;

const BOTH_CLOCKS =
  'Latency counts from the moment a request was due, service time from its first byte. Where they differ, requests waited to be sent.';

const LINE = { stepped: false, dashed: false, filled: false };
const STEP = { ...LINE, stepped: true };

/** Builds the plots over time, which share one time axis. */
export function buildTimePlots(result: LoadResult): Plot[] {
  if (result.series.length === 0) return [];
  const plots = [buildThroughputPlot(result)];
  if (result.series.some((window) => window.p50Ms !== null)) plots.push(buildLatencyPlot(result));
  if (result.server && result.server.series.length > 0) {
    plots.push(...buildServerPlots(result, result.server));
  }
  return plots;
}

/** Builds the plots over percentiles: of iterations where there are scenarios, otherwise of latency and service time. */
export function buildDistributionPlots(result: LoadResult): Plot[] {
  if (result.iterations) return buildIterationPlots(result);
  const { percentiles, latencyMs, serviceTimeMs } = result;
  const { latency, serviceTime } = percentiles;
  if (latency.length === 0) return [];
  const unknown =
    computeUnknownShare(latency) > 0
      ? ' A line that ends below 100 % means that unfinished requests were older than all finished ones.'
      : '';
  const same = isSameDistribution(latencyMs, serviceTimeMs);
  const second: PercentileLine[] = same
    ? []
    : [{ label: 'service time', points: serviceTime, color: 'second', dashed: true }];
  return [
    buildPercentilePlot({
      title: 'Latency by percentile',
      caption: `${same ? 'Service time is the same, as no request waited to be sent.' : BOTH_CLOCKS}${unknown}`,
      summary: `Latency: median ${formatStatistic(latencyMs, 'p50')}, 99th percentile ${formatStatistic(latencyMs, 'p99')}, maximum ${formatStatistic(latencyMs, 'max')}.`,
      count: latencyMs.count,
      lines: [{ label: 'latency', points: latency, color: 'first', dashed: false }, ...second],
    }),
  ];
}

function buildIterationPlots(result: LoadResult): Plot[] {
  const clocks = selectClocks(result);
  if (typeof clocks === 'string') return [];
  const { first, second } = clocks;
  const { times, points } = first;
  const lines: PercentileLine[] = [
    { label: 'iteration', points, color: 'first', dashed: false },
    ...(second === null
      ? []
      : [{ label: 'active', points: second.points, color: 'second', dashed: true } as const]),
  ];
  const active = second === null ? '' : ' Active is its time without pauses and hooks.';
  return [
    buildPercentilePlot({
      title: 'Duration of iterations by percentile',
      caption: `From when an iteration was due to its end.${active}`,
      summary: `Iterations: median ${formatStatistic(times, 'p50')}, 99th percentile ${formatStatistic(times, 'p99')}, maximum ${formatStatistic(times, 'max')}.`,
      count: times.count,
      lines,
    }),
  ];
}

function buildThroughputPlot(result: LoadResult): Plot {
  const points = groupReadableWindows(result, MAX_POINTS);
  const completed = points.map((point) => point.completed);
  const errors = points.map((point) => point.errors);
  const series: Series[] = [
    { ...STEP, label: 'completed', values: repeatLast(completed), color: 'first', filled: true },
  ];
  if (errors.some((value) => value > 0)) {
    series.push({ ...STEP, label: 'errors', values: repeatLast(errors), color: 'error' });
  }
  return {
    title: formatTitle('Throughput', 'mean', (points[1]?.tMs ?? 0) - (points[0]?.tMs ?? 0)),
    caption:
      'Responses per second with any status, and errors: status 4xx/5xx, transport errors, timeouts.',
    summary: `Throughput over time: mean ${rate(result.throughput.mean)} requests per second.`,
    axis: 'time',
    unit: 'rate',
    log: false,
    x: [...points.map((point) => point.tMs), result.durationMs].map(toSeconds),
    end: toSeconds(result.durationMs),
    series,
  };
}

function buildLatencyPlot(result: LoadResult): Plot {
  const { latencyMs, durationMs } = result;
  const points = thinPercentiles(result, MAX_POINTS);
  const p50s = repeatLast(points.map((point) => point.p50Ms));
  const p99s = repeatLast(points.map((point) => point.p99Ms));
  const series: Series[] = [
    { ...STEP, label: 'p99', values: p99s, color: 'second' },
    { ...STEP, label: 'p50', values: p50s, color: 'first' },
  ];
  return {
    title: formatTitle('Latency', 'highest', computePointMs(result.series, result.windowMs)),
    caption:
      'Percentiles of the requests that ended in each 100 ms window. In a gap no request ended.',
    summary: `Latency over time: median ${formatStatistic(latencyMs, 'p50')}, 99th percentile ${formatStatistic(latencyMs, 'p99')} over the run.`,
    axis: 'time',
    unit: 'time',
    log: needsLogScale(series),
    x: [...points.map((point) => point.tMs), durationMs].map(toSeconds),
    end: toSeconds(durationMs),
    series,
  };
}

function buildServerPlots({ durationMs }: LoadResult, server: ServerResult): Plot[] {
  const samples = thinSamples(server, MAX_POINTS);
  const common = {
    axis: 'time',
    log: false,
    x: samples.map((sample) => toSeconds(sample.tMs)),
    end: toSeconds(durationMs),
  } as const;
  const filled = { ...LINE, color: 'first', filled: true } as const;
  // Samples are joined in a run of many hours.
  const { tMs = 0 } = server.series.at(-1) ?? {};
  const sampleMs = Math.max(1, Math.round(tMs / server.series.length / WINDOW_MS)) * WINDOW_MS;
  const ms = computePointMs(server.series, sampleMs);
  return [
    {
      ...common,
      title: formatTitle('Server CPU', 'highest', ms),
      caption: `Cores busy, all threads of pid ${server.pid} and its descendants.`,
      summary: `Server CPU over time: mean ${cores(server.cpuMean)} cores.`,
      unit: 'cores',
      series: [{ ...filled, label: 'CPU', values: samples.map((sample) => sample.cpu) }],
    },
    {
      ...common,
      title: formatTitle('Server memory', 'highest', ms),
      caption: 'Resident set size, shared pages included.',
      summary: `Server memory over time: at most ${bytes(server.rssMaxMb * 1e6)}.`,
      unit: 'megabytes',
      series: [{ ...filled, label: 'memory', values: samples.map((sample) => sample.rssMb) }],
    },
  ];
}

/** Length of a window, and interval between samples of the server. */
const WINDOW_MS = 100;

/** Computes the time that a point represents with at most `MAX_POINTS` points, of windows or samples of this length. */
function computePointMs(series: readonly unknown[], windowMs = WINDOW_MS): number {
  return countPerPoint(series, MAX_POINTS) * windowMs;
}

/** Formats a title; if a point represents several windows, it says how: `Latency, highest of each 3 s`. */
function formatTitle(title: string, what: string, ms: number): string {
  return ms > WINDOW_MS ? `${title}, ${what} of each ${duration(ms)}` : title;
}

/** Repeats the last value, as the last window lasts until the end of the run. */
function repeatLast(values: (number | null)[]): (number | null)[] {
  return [...values, values.at(-1) ?? null];
}

function toSeconds(ms: number): number {
  return ms / 1000;
}
