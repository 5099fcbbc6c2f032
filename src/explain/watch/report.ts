import { formatWaitPlace } from '../conclusion/waits.js';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import type { History } from '../hypotheses/history.js';
import type { LimitId } from '../limit-ids.js';
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
import { type ConnectedProcess, describeUnseen, type WatchedService } from './unseen-requests.js';

/** A window with what it says. */
export interface WindowReport
  extends Omit<WatchReport, 'schemaVersion' | 'reason' | 'pid' | 'condition' | 'cannotSee'> {}

/** Maximum number of routes, and of functions, of a report. */
const [MAX_ROUTES, MAX_FUNCTIONS] = [10, 5];

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
 */
export function reportWindow(
  block: Observation,
  memory: WatchMemory,
  exhausted: HeapExhaustion[],
  { profile, waits }: ObservedCode,
  service: WatchedService,
): WindowReport {
  const { connected } = service;
  const loopTime = profile && toLoopTime(profile, null);
  const judgement = block.inside
    ? judgeWindow(
        { ...toMetrics(block, memory), loopTime },
        toHistory(memory, exhausted),
        waits,
        memory.growing,
      )
    : describeUnseen(block, exhausted, service);
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

/** Lists the functions with the most loop time, and first the application's dominant call if they do not contain it. */
function listHotFunctions({ self, dominantCall }: ProfileView): HotFunction[] {
  const [first] = self;
  const isListed =
    dominantCall === null ||
    self.some(({ name, place }) => name === dominantCall.name && place === dominantCall.place);
  const all = isListed || !first ? self : [dominantCall, ...self];
  return all.slice(0, MAX_FUNCTIONS);
}

/** Whether a window is worth a profile: the event loop is busy, and the processes are visible from outside. */
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

/** Lists the limits that a window cannot show. */
function listNotObserved({ inside }: Observation, { retained }: WatchMemory): LimitId[] {
  const isHidden = ({ id, needsOwnLoad }: Limit) =>
    !inside || needsOwnLoad !== undefined || (id === 'memory-growth' && retained === null);
  return Object.values(LIMITS)
    .filter(isHidden)
    .map(({ id }) => id);
}
