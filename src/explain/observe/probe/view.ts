import type { Counters, MemoryUsage } from '../../../probe/protocol.cjs';
import { computeQuantile } from '../../../statistics/histogram.cjs';
import type { InsideView, OutboundView, RouteView } from '../types.js';
import type { FullSample, ProbedProcess } from './process.js';
import { cutWindow, type SampleWindow, sumByName, sumCounters } from './sample-window.js';

/** A shorter window says nothing. */
const MIN_WINDOW_MS = 50;
/** Minimum share of a range that a process covers which was there all the time. */
const MIN_WHOLE_SHARE = 0.8;
const MB = 1e6;
/** Prefix of origins whose protocol is not HTTP. */
export const TCP_PREFIX = 'tcp://';

/**
 * Builds the view of the processes in a range of time. Rates and numbers are sums, shares are means over the processes,
 * `utilization` is that of the busiest. A process that began or ended within the range counts for its part of it.
 */
export function buildProbeView(
  processes: ProbedProcess[],
  fromMs: number,
  toMs: number,
  workers: number[] = [],
): InsideView | null {
  const windows = processes
    .flatMap((process) => cutWindow(process, fromMs, toMs) ?? [])
    .filter(({ ms }) => ms >= MIN_WINDOW_MS);
  if (windows.length === 0) return null;
  const each = windows.map((window) => window.computeGrowth(({ counters }) => counters));
  const sum = sumCounters(each);
  const ms =
    Math.max(...windows.map((one) => one.toMs)) - Math.min(...windows.map((one) => one.fromMs));
  const of = (name: string) => sum[name] ?? 0;
  /** Per second, summed over all processes. */
  const rate = (name: string) => (of(name) * 1000) / ms;
  /** As a share of the time of all processes. */
  const totalMs = windows.reduce((all, window) => all + window.ms, 0);
  const share = (time: number) => time / totalMs;
  const isWhole = ({ ms: own, process }: SampleWindow) =>
    own >= MIN_WHOLE_SHARE * ms || isThere(process, fromMs);
  const partial = listPids(windows.filter((window) => !isWhole(window)));
  const utilizations = windows.map((window, index) => {
    const part = isWhole(window) ? 1 : window.ms / ms;
    return part * utilization(each[index] ?? {});
  });
  return {
    seconds: ms / 1000,
    processes: Math.max(1, Math.round(totalMs / ms)),
    pids: listPids(windows.filter(isWhole)),
    workers: workers.filter((pid) => !partial.includes(pid)),
    utilization: Math.max(...utilizations),
    busyLoops: utilizations.reduce((all, one) => all + one, 0),
    loops: of('loops') > 0 ? rate('loops') : null,
    eventsPerLoop: of('loops') > 0 ? of('events') / of('loops') : null,
    started: rate('begun'),
    finished: rate('ended'),
    inFlight: of('inFlightMs') / ms,
    handlerMs: mean(of('handlerMs'), of('ended')),
    ended: {
      all: Math.round(of('ended')),
      aborted: Math.round(of('aborted')),
      alone: Math.round(of('alone')),
      errorStatuses: selectStatuses(sum),
    },
    handlerTimes: sumHandlerTimes(windows),
    gc: {
      young: share(of('gcYoungMs')),
      old: share(of('gcOldMs')),
      other: share(of('gcOtherMs')),
      longestMs: findLongest(windows, 'gcMs'),
    },
    heap: buildHeapView(windows),
    poolMs: buildPoolView(of('poolSamples'), of('poolMs'), findLongest(windows, 'poolMs')),
    stalls: {
      // A callback that began before the window counts where it ends.
      share: Math.min(1, share(of('stallMs'))),
      count: of('stalls'),
      longestMs: findLongest(windows, 'stallMs'),
      residualMs: share(of('stallSquaredMs')) / 2,
      byCause: sumStalls(windows),
    },
    routes: buildRouteViews(windows, ms, totalMs),
    outbound: buildOutboundViews(windows, ms),
    output: {
      writes: rate('writes'),
      bytes: rate('writtenBytes'),
      share: share(of('writeMs')),
    },
    files: {
      writes: rate('fileWrites'),
      bytes: rate('fileWrittenBytes'),
      flushes: rate('flushes'),
      share: share(of('fileWriteMs')),
    },
    threadPoolSize: windows[0]?.process.hello?.threadPoolSize ?? null,
    maxSemiSpaceMb: windows[0]?.process.hello?.maxSemiSpaceMb ?? null,
    resources: averageResources(windows),
  };
}

/** Whether a process was there before a time, and has not left. A busy loop takes its samples late. */
function isThere({ isConnected, samples }: ProbedProcess, fromMs: number): boolean {
  const firstMs = samples[0]?.at ?? Number.POSITIVE_INFINITY;
  return isConnected && firstMs <= fromMs + MIN_WINDOW_MS;
}

function listPids(windows: SampleWindow[]): number[] {
  return windows.flatMap(({ process }) => process.hello?.pid ?? []);
}

function utilization({ idleMs = 0, activeMs = 0 }: Counters): number {
  return activeMs + idleMs > 0 ? activeMs / (activeMs + idleMs) : 0;
}

function mean(sum: number, count: number): number | null {
  return count > 0 ? sum / count : null;
}

/** Selects the numbers of responses by error status. */
function selectStatuses(counters: Counters): Record<string, number> {
  const statuses = Object.entries(counters).flatMap(([name, responses]) => {
    const [, status] = /^status(\d+)$/.exec(name) ?? [];
    // Counters between two samples are interpolated.
    return status === undefined || responses < 0.5 ? [] : [[status, Math.round(responses)]];
  });
  return Object.fromEntries(statuses);
}

function sumHandlerTimes(windows: SampleWindow[]): Counters {
  const byRoute = sumByName(
    windows,
    ({ routes }) => routes,
    ({ handlerTimes }) => handlerTimes,
  );
  return sumCounters(Object.values(byRoute));
}

function findLongest(windows: SampleWindow[], kind: 'gcMs' | 'poolMs' | 'stallMs'): number {
  const all = windows.flatMap(({ samples }) => samples.map(({ longest }) => longest[kind]));
  return all.reduce((max, one) => Math.max(max, one), 0);
}

/** Builds the view of the pool from its trivial jobs; a job that did not end in the block waited for the longest time. */
function buildPoolView(jobs: number, sumMs: number, max: number): InsideView['poolMs'] {
  if (jobs >= 1) return { mean: sumMs / jobs, max };
  return max > 0 ? { mean: max, max } : null;
}

function buildHeapView(windows: SampleWindow[]): InsideView['heap'] {
  const readings = windows.flatMap(({ process, last }) => {
    const known = process.samples.filter(({ at, memory }) => memory && at <= last.at);
    const levels = known.at(-1)?.memory;
    return levels ? [{ levels, pid: process.hello?.pid ?? 0 }] : [];
  });
  const sum = (pick: (levels: MemoryUsage) => number | null) =>
    readings.reduce((all, { levels }) => all + (pick(levels) ?? 0) / MB, 0);
  const collected = readings.filter(({ levels }) => levels.heapAfterOld !== null);
  return {
    usedMb: sum(({ heapUsed }) => heapUsed),
    limitMb: sum(({ heapLimit }) => heapLimit),
    externalMb: sum(({ external }) => external),
    afterOldMb: collected.length > 0 ? sum(({ heapAfterOld }) => heapAfterOld) : null,
    collectedPids: collected.map(({ pid }) => pid),
  };
}

function sumStalls(windows: SampleWindow[]): InsideView['stalls']['byCause'] {
  const by = sumByName(
    windows,
    ({ stalls }) => stalls,
    (counters) => counters,
  );
  return Object.entries(by)
    .map(([cause, { ms = 0, count = 0 }]) => ({ cause, ms, count }))
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms);
}

/** What the counters and times of a name say about it; `null` if it was not in use. */
type ToView<View> = (name: string, counters: Counters, times: Counters) => View | null;

/** Builds a view of each name from the counters and the histogram of times that its parts contain. */
function buildViews<Part extends { counters: Counters }, View>(
  windows: SampleWindow[],
  parts: (sample: FullSample) => Record<string, Part>,
  times: (part: Part) => Counters,
  toView: ToView<View>,
): View[] {
  const counters = sumByName(windows, parts, (part) => part.counters);
  const histograms = sumByName(windows, parts, times);
  return Object.entries(counters).flatMap(
    ([name, grown]) => toView(name, grown, histograms[name] ?? {}) ?? [],
  );
}

function buildRouteViews(windows: SampleWindow[], ms: number, totalMs: number): RouteView[] {
  const toView: ToView<RouteView> = (route, counters, times) => {
    const { ended = 0, handlerMs = 0, syncMs = 0 } = counters;
    if (ended === 0) return null;
    const syncTimes = windows.flatMap(({ samples }) =>
      samples.map(({ longestSyncMs }) => longestSyncMs[route] ?? 0),
    );
    return {
      route,
      rate: (ended * 1000) / ms,
      handlerMs: handlerMs / ended,
      handlerP50Ms: computeQuantile(times, 0.5) ?? 0,
      handlerP99Ms: computeQuantile(times, 0.99) ?? 0,
      syncMs: syncMs / ended,
      syncMaxMs: Math.max(0, ...syncTimes),
      syncShare: syncMs / totalMs,
    };
  };
  return buildViews(
    windows,
    ({ routes }) => routes,
    ({ handlerTimes }) => handlerTimes,
    toView,
  ).sort((a, b) => b.rate - a.rate);
}

function buildOutboundViews(windows: SampleWindow[], ms: number): OutboundView[] {
  const toView: ToView<OutboundView> = (origin, counters, times) => {
    const of = (name: string) => counters[name] ?? 0;
    if (of('ended') + of('waitingMs') + of('answeringMs') === 0) return null;
    const median = computeQuantile(times, 0.5);
    // Requests of an unknown protocol may include ones that wait for news, such as those of a monitor; the mean would
    // be dominated by them.
    const isHttp = !origin.startsWith(TCP_PREFIX);
    const answerMs = isHttp ? mean(of('answerMs'), of('answered')) : median;
    const square = mean(of('answerSquaredMs'), of('answered'));
    const bounds = windows.flatMap(({ last }) => last.outbound[origin]?.maxSockets ?? []);
    return {
      origin,
      opened: (of('opened') * 1000) / ms,
      usesNagle: of('nagleSamples') > 0,
      rate: (of('ended') * 1000) / ms,
      failed: of('failed'),
      waiting: of('waitingMs') / ms,
      answering: of('answeringMs') / ms,
      waitMs: mean(of('waitMs'), of('assigned')),
      answerMs,
      answerP50Ms: median,
      answerP99Ms: computeQuantile(times, 0.99),
      answerSpread: isHttp && answerMs && square ? square / answerMs ** 2 : null,
      maxSockets: bounds.length > 0 ? Math.max(...bounds) : null,
    };
  };
  return buildViews(
    windows,
    ({ outbound }) => outbound,
    ({ answerTimes }) => answerTimes,
    toView,
  ).sort((a, b) => b.waiting + b.answering - (a.waiting + a.answering));
}

function averageResources(windows: SampleWindow[]): Record<string, number> {
  return sumCounters(
    windows.map(({ samples }) => {
      const readings = samples.flatMap(({ memory }) =>
        memory?.resources ? [memory.resources] : [],
      );
      const sums = sumCounters(readings);
      return Object.fromEntries(
        Object.entries(sums).map(([name, sum]) => [name, sum / readings.length]),
      );
    }),
  );
}
