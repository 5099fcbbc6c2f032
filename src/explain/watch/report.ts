import { bytes, plural, share, time } from '../../format/units.js';
import type { Hello } from '../../probe/protocol.cjs';
import { formatWaitPlace } from '../conclusion/waits.js';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import type { History } from '../hypotheses/history.js';
import type { LimitId } from '../limit-ids.js';
import { FIND_LEAK } from '../limits/cpu/memory-growth.js';
import type { Limit } from '../limits/limit.js';
import { LIMITS } from '../limits/limits.js';
import { deriveMetrics } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';
import type { Observation, ProcessUse } from '../observe/types.js';
import type { ProfileView } from '../profile/analyze.js';
import { toLoopTime } from '../profile/capture.js';
import type { HeavyPath, HotFunction } from '../result.js';
import { buildWaits, type ObservedWaits } from '../waits/waits-graph.js';
import { type Judgement, judgeWindow } from './judge.js';
import type { WatchMemory } from './memory.js';
import type { WatchedProcess, WatchedRoute, WatchedTraffic, WatchReport } from './result.js';

/** A window with what it says. */
export interface WindowReport
  extends Omit<WatchReport, 'schemaVersion' | 'reason' | 'pid' | 'condition' | 'cannotSee'> {}

/** Maximum number of routes, and of functions, of a report. */
const [MAX_ROUTES, MAX_FUNCTIONS] = [10, 5];

/** A process that is seen from inside; `serving` if it has received requests. */
export type ConnectedProcess = Pick<Hello, 'pid' | 'serving'>;

/** What was observed of the code after a window. */
export interface ObservedCode {
  /** The profile of the busiest process; `null` without one. */
  profile: ProfileView | null;
  /** `null` if they were not observed. */
  waits: ObservedWaits | null;
}

/**
 * Reports on a window.
 *
 * @param exhausted the processes that ended in it with a full heap
 * @param connected the processes that are seen from inside
 */
export function reportWindow(
  block: Observation,
  memory: WatchMemory,
  exhausted: HeapExhaustion[],
  { profile, waits }: ObservedCode,
  connected: readonly ConnectedProcess[],
): WindowReport {
  const loopTime = profile && toLoopTime(profile, null);
  const judgement = block.inside
    ? judgeWindow(
        { ...toMetrics(block, memory), loopTime },
        toHistory(memory, exhausted),
        waits,
        memory.growing,
      )
    : areAllConnected(block, connected)
      ? (describeExhaustion(exhausted) ?? describeUnseenRequests(block, connected))
      : describeOutside(block);
  const { remedy } = judgement;
  const { limit } = judgement.verdict;
  return {
    startedAt: block.load.startedAt,
    durationMs: block.load.durationMs,
    traffic: block.inside && describeTraffic(block),
    ...judgement,
    remedy: limit && remedy !== null ? `${remedy}${formatWaitPlace(limit, waits)}` : remedy,
    waits: listWaits(judgement, block, waits),
    hot: profile ? listHotFunctions(profile) : [],
    routes: listRoutes(block),
    processes: (block.outside?.processes ?? []).map((one) => describeProcess(one, connected)),
    notObserved: listNotObserved(block, memory),
  };
}

function listWaits(
  { population }: Judgement,
  { inside }: Observation,
  waits: ObservedWaits | null,
): HeavyPath[] {
  return (waits && buildWaits(waits, population, inside?.routes ?? [])?.heaviest) ?? [];
}

function toHistory({ retained }: WatchMemory, exhausted: HeapExhaustion[]): History {
  return { retained, exhausted, costOverTime: [], secondProcess: null, afterRestart: null };
}

/** Lists the functions that take most of the loop's time, and the call of the application that does with all that it calls. */
function listHotFunctions({ self, dominantCall }: ProfileView): HotFunction[] {
  const [first] = self;
  const isTold =
    dominantCall === null ||
    self.some(({ name, place }) => name === dominantCall.name && place === dominantCall.place);
  const all = isTold || !first ? self : [dominantCall, ...self];
  return all.slice(0, MAX_FUNCTIONS);
}

/** Whether a window is worth a profile: its loop is busy, and the functions that keep it busy are of interest. */
export function isWorthProfile({ inside, outside }: Observation): boolean {
  return (inside?.utilization ?? 0) >= SATURATED && outside !== null;
}

/** Whether it is worth observing what requests wait for: most of them wait, and not for the loop. */
export function isWorthWaits({ load, inside }: Observation): boolean {
  if (!inside || load.meanInFlight < MIN_IN_FLIGHT) return false;
  const onLoop = inside.utilization * inside.processes;
  return inside.inFlight - onLoop >= 0.5 * load.meanInFlight;
}

/** Maximum ratio of the requests in handlers of a window to those while waits were observed, either way. */
const MAX_LOAD_RATIO = 2;

/** Whether about as many requests were in handlers in a window as at another time. */
export function isSimilarLoad({ inside }: Observation, inHandlers: number): boolean {
  const ratio = (inside?.inFlight ?? 0) / Math.max(1e-9, inHandlers);
  return ratio <= MAX_LOAD_RATIO && ratio >= 1 / MAX_LOAD_RATIO;
}

/** Minimum number of requests in flight whose waits are observed. */
const MIN_IN_FLIGHT = 0.05;

function toMetrics(base: Observation, { quietest }: WatchMemory): Metrics {
  return deriveMetrics({
    isWatched: true,
    base,
    single: quietest,
    ...{
      sample: null,
      unknownPath: null,
      idleShare: null,
      idleThreadShare: null,
      idleOthers: null,
    },
    ...{ identityBytes: null, overload: null },
  });
}

function describeTraffic({ load, inside }: Observation): WatchedTraffic {
  const { requests, latencyMs, meanInFlight } = load;
  const { mean, p50, p90, p99, max } = latencyMs;
  const { all, aborted } = inside?.ended ?? { all: 0, aborted: 0 };
  return {
    rate: (all * 1000) / Math.max(1, load.durationMs),
    errorShare: requests.statusErrors / Math.max(1, all),
    abortedShare: aborted / Math.max(1, all),
    responseMs: { mean, p50, p90, p99, max },
    inFlight: meanInFlight,
    unread: meanInFlight - (inside?.inFlight ?? 0),
  };
}

function listRoutes({ inside }: Observation): WatchedRoute[] {
  return [...(inside?.routes ?? [])]
    .sort((a, b) => b.syncShare - a.syncShare)
    .slice(0, MAX_ROUTES)
    .map(({ route, rate, handlerMs, handlerP99Ms, syncShare }) => ({
      ...{ route, rate },
      ...{ meanMs: handlerMs, p99Ms: handlerP99Ms, loopShare: syncShare },
    }));
}

function describeProcess(
  { pid, main, others, rssMb, openFiles }: ProcessUse,
  connected: readonly ConnectedProcess[],
): WatchedProcess {
  const isAnyServing = connected.some(({ serving }) => serving);
  return {
    pid,
    // The primary of a cluster has no requests.
    isObserved: connected.some((one) => one.pid === pid && (one.serving || !isAnyServing)),
    run: main.run,
    queued: main.queued,
    cores: others.reduce((sum, { run }) => sum + run, main.run),
    ...{ rssMb, openFiles },
  };
}

/** Share of a core from which on a process may serve requests. */
const MIN_SERVING_RUN = 0.05;

/** Whether no process does much that is not seen from inside, as a worker of a cluster that lives for a moment. */
function areAllConnected(
  { outside }: Observation,
  connected: readonly ConnectedProcess[],
): boolean {
  const pids = new Set(connected.map(({ pid }) => pid));
  const others = (outside?.processes ?? []).filter(({ pid }) => !pids.has(pid));
  return pids.size > 0 && others.every(({ main }) => main.run < MIN_SERVING_RUN);
}

/** Describes a window without a request after a process has ended with a full heap; `null` if none has. */
function describeExhaustion([first]: readonly HeapExhaustion[]): Judgement | null {
  if (!first) return null;
  const { pid, heapUsedMb, heapLimitMb } = first;
  const { text }: Limit = LIMITS['memory-growth'];
  const sentence = `memory grows: process ${pid} has ended with ${bytes(heapUsedMb * 1e6)} in a heap of ${bytes(heapLimitMb * 1e6)}, and no request was seen since.`;
  return {
    verdict: {
      ...{ limit: 'memory-growth', status: 'likely', sentence },
      ...{ arithmetic: [], alsoLimiting: [] },
    },
    ...{ remedy: FIND_LEAK, confirmation: text.confirm ?? null },
    ...{ population: [], evidence: [] },
  };
}

/** Describes a window without a request of processes that are seen from inside. */
function describeUnseenRequests(
  { load, outside }: Observation,
  connected: readonly ConnectedProcess[],
): Judgement {
  const serving = connected.find((one) => one.serving);
  const [{ pid }] = [serving ?? connected[0] ?? { pid: 0 }];
  const during = `in ${time(load.durationMs)}`;
  const main = outside?.processes.find((one) => one.pid === pid)?.main;
  const sentence = serving
    ? `cannot tell: process ${pid} has not answered ${during}: its event loop is blocked${main ? ` (its main thread is on a core ${share(main.run)} of the time)` : ''}.`
    : `no limit is seen: no request came to node:http or node:http2 in process ${pid} ${during}; what worker threads and servers of node:net answer is not seen.`;
  const status = serving ? 'cannot-tell' : 'no-limit';
  return {
    verdict: { limit: null, status, sentence, arithmetic: [], alsoLimiting: [] },
    ...{ remedy: null, confirmation: null, population: [], evidence: [] },
  };
}

/** Describes what is visible from outside: without the requests there is no limit to name. */
function describeOutside({ outside }: Observation): Judgement {
  const processes = outside?.processes ?? [];
  const [busiest] = [...processes].sort((a, b) => b.main.run - a.main.run);
  const seen = busiest
    ? `the main thread of process ${busiest.pid} is on a core ${share(busiest.main.run)} of the time`
    : 'its threads are not visible';
  const isBusy = (busiest?.main.run ?? 0) >= SATURATED;
  const throttled = outside?.quota?.throttledPeriods ?? 0;
  const full = processes.find(
    ({ openFiles, fileLimit }) => openFiles !== null && openFiles >= (fileLimit ?? Infinity) - 3,
  );
  return {
    verdict: {
      limit: null,
      status: 'cannot-tell',
      sentence: `cannot tell: the requests are not seen, only the threads: ${seen}${isBusy ? ': its event loop is probably the limit' : ''}.`,
      arithmetic: [
        ...(throttled > 0 ? [`a CPU quota stops it in ${share(throttled)} of its periods`] : []),
        ...(full
          ? [`process ${full.pid} has ${plural(full.openFiles ?? 0, 'file')} open: its limit`]
          : []),
      ],
      alsoLimiting: [],
    },
    ...{ remedy: null, confirmation: null, population: [], evidence: [] },
  };
}

/** Lists the limits that a window cannot show. */
function listNotObserved({ inside }: Observation, { retained }: WatchMemory): LimitId[] {
  const isHidden = ({ id, needsOwnLoad }: Limit) =>
    !inside || needsOwnLoad !== undefined || (id === 'memory-growth' && retained === null);
  return Object.values(LIMITS)
    .filter(isHidden)
    .map(({ id }) => id);
}
