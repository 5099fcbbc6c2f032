import { bytes, cores, duration, rate } from '../../format/units.js';
import type { LoadResult, ServerResult } from '../../load/result.js';
import { figure, sameDistribution, unknownShare } from '../distribution.js';
import {
  highestPercentiles,
  highestSamples,
  readableIntervals,
  windowsEach,
} from '../intervals.js';
import { nines, type Plot, type Series } from './plot.js';

type Points = readonly (readonly [percentile: number, ms: number])[];

/** Where the greatest value is so many times the median, the y axis is logarithmic: a linear one would show a flat line. */
const logFrom = 20;

/** The most points of a plot over time: more than a screen has pixels for would only be slow. */
const mostPoints = 1200;

const bothClocks =
  'Latency counts from the moment a request was due, service time from its first byte. Where they part, requests waited to be sent.';

const line = { stepped: false, dashed: false, filled: false };
const step = { ...line, stepped: true };

/** What happened over time: on one time axis. */
export function timePlots(result: LoadResult): Plot[] {
  if (result.series.length === 0) return [];
  const plots = [throughputPlot(result)];
  if (result.series.some((window) => window.p50Ms !== null)) plots.push(latencyPlot(result));
  if (result.server && result.server.series.length > 0) {
    plots.push(...serverPlots(result, result.server));
  }
  return plots;
}

/** Both clocks on the percentile axis. */
export function distributionPlots({ percentiles, latencyMs, serviceTimeMs }: LoadResult): Plot[] {
  const { latency, serviceTime } = percentiles;
  if (latency.length === 0) return [];
  const percentilesOf = (points: Points) => points.map(([percentile]) => percentile);
  const all = new Set([0, ...percentilesOf(latency), ...percentilesOf(serviceTime)]);
  const shown = [...all].sort((a, b) => a - b);
  const valuesOf = (points: Points) => shown.map((percentile) => valueAt(points, percentile));
  const series: Series[] = [
    { ...line, label: 'latency', values: valuesOf(latency), color: 'first' },
  ];
  const unknown =
    unknownShare(latency) > 0
      ? ' Where a line ends below 100 %, requests that did not finish were older than all that did.'
      : '';
  const same = sameDistribution(latencyMs, serviceTimeMs);
  if (!same) {
    const values = valuesOf(serviceTime);
    series.push({ ...line, label: 'service time', values, color: 'second', dashed: true });
  }
  return [
    {
      id: 'distribution',
      title: 'Latency by percentile',
      caption: `${same ? 'Service time is the same: no request waited to be sent.' : bothClocks}${unknown}`,
      summary: `Latency: median ${figure(latencyMs, 'p50')}, 99th percentile ${figure(latencyMs, 'p99')}, greatest ${figure(latencyMs, 'max')}.`,
      axis: 'percentile',
      unit: 'time',
      log: wide(series),
      x: shown.map((percentile) => nines(percentile, latencyMs.count)),
      end: nines(100, latencyMs.count),
      series,
    },
  ];
}

function throughputPlot(result: LoadResult): Plot {
  const points = readableIntervals(result, mostPoints);
  const completed = points.map((point) => point.completed);
  const errors = points.map((point) => point.errors);
  const series: Series[] = [
    { ...step, label: 'completed', values: closed(completed), color: 'first', filled: true },
  ];
  if (errors.some((value) => value > 0)) {
    series.push({ ...step, label: 'errors', values: closed(errors), color: 'error' });
  }
  return {
    id: 'throughput',
    title: thinned('Throughput', 'mean', (points[1]?.tMs ?? 0) - (points[0]?.tMs ?? 0)),
    caption:
      'Responses per second with any status, and errors: status 4xx/5xx, transport errors, timeouts.',
    summary: `Throughput over time: mean ${rate(result.throughput.mean)} requests per second.`,
    axis: 'time',
    unit: 'rate',
    log: false,
    x: [...points.map((point) => point.tMs), result.durationMs].map(seconds),
    end: seconds(result.durationMs),
    series,
  };
}

function latencyPlot(result: LoadResult): Plot {
  const { latencyMs, durationMs } = result;
  const points = highestPercentiles(result, mostPoints);
  const p50s = closed(points.map((point) => point.p50Ms));
  const p99s = closed(points.map((point) => point.p99Ms));
  const series: Series[] = [
    { ...step, label: 'p99', values: p99s, color: 'second' },
    { ...step, label: 'p50', values: p50s, color: 'first' },
  ];
  return {
    id: 'latency',
    title: thinned('Latency', 'highest', pointMs(result.series)),
    caption: 'Percentiles of each 100 ms window, by the end of the request. A gap: nothing ended.',
    summary: `Latency over time: median ${figure(latencyMs, 'p50')}, 99th percentile ${figure(latencyMs, 'p99')} over the run.`,
    axis: 'time',
    unit: 'time',
    log: wide(series),
    x: [...points.map((point) => point.tMs), durationMs].map(seconds),
    end: seconds(durationMs),
    series,
  };
}

function serverPlots({ durationMs }: LoadResult, server: ServerResult): Plot[] {
  const samples = highestSamples(server, mostPoints);
  const common = {
    axis: 'time',
    log: false,
    x: samples.map((sample) => seconds(sample.tMs)),
    end: seconds(durationMs),
  } as const;
  const filled = { ...line, color: 'first', filled: true } as const;
  const ms = pointMs(server.series);
  return [
    {
      ...common,
      id: 'cpu',
      title: thinned('Server CPU', 'highest', ms),
      caption: `Cores busy, all threads of pid ${server.pid} and its descendants.`,
      summary: `Server CPU over time: mean ${cores(server.cpuMean)} cores.`,
      unit: 'cores',
      series: [{ ...filled, label: 'CPU', values: samples.map((sample) => sample.cpu) }],
    },
    {
      ...common,
      id: 'memory',
      title: thinned('Server memory', 'highest', ms),
      caption: 'Resident set size, shared pages included.',
      summary: `Server memory over time: at most ${bytes(server.rssMaxMb * 1e6)}.`,
      unit: 'megabytes',
      series: [{ ...filled, label: 'memory', values: samples.map((sample) => sample.rssMb) }],
    },
  ];
}

/** The length of a window, and the time from one sample of the server to the next. */
const windowMs = 100;

/** The time that a point stands for where there may be `mostPoints` of them. */
function pointMs(series: readonly unknown[]): number {
  return windowsEach(series, mostPoints) * windowMs;
}

/** A title that says what a point is where it stands for several windows: `Latency, highest of each 3 s`. */
function thinned(title: string, what: string, ms: number): string {
  return ms > windowMs ? `${title}, ${what} of each ${duration(ms)}` : title;
}

/** The last window lasts until the end of the run. */
function closed(values: (number | null)[]): (number | null)[] {
  return [...values, values.at(-1) ?? null];
}

function valueAt(points: Points, percentile: number): number | null {
  return points.find((point) => point[0] >= percentile)?.[1] ?? null;
}

function wide(series: Series[]): boolean {
  const values = series.flatMap((one) => one.values).filter((value) => value !== null);
  const sorted = values.sort((a, b) => a - b);
  const [least = 0, median = 0, most = 0] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)];
  return least > 0 && most > logFrom * median;
}

function seconds(ms: number): number {
  return ms / 1000;
}
