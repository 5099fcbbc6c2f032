import { count, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';
import {
  computeDominantGain,
  computeGain,
  type Detector,
  MIN_DOMINANT_SHARE,
  scale,
  widen,
} from '../hypothesis.js';
import { estimateGeneratorCores } from '../machine/generator-cores.js';
import { isThrottled } from '../machine/machine.js';
import { readPoolSize } from '../machine/pool-size.js';
import { predictBusyLoop } from './loop.js';
import {
  buildLoopEvidence,
  computeGarbageShare,
  estimateWarmLimit,
  SATURATED,
} from './loop-capacity.js';

export const detectEventLoopBlocked: Detector = (metrics) => {
  const { base, loop, throughput, responseMs } = metrics;
  const limit = 'event-loop-blocked';
  const stalls = base.inside?.stalls;
  if (!stalls || !loop) return null;
  const rare = stalls.count / base.load.durationMs < (0.2 * throughput) / 1000;
  const matters = stalls.share >= 0.12 || stalls.residualMs > 0.3 * responseMs;
  if (stalls.count === 0 || !matters || !rare) {
    const why =
      stalls.count === 0
        ? 'no callback blocked the loop for 20 ms'
        : rare
          ? `long callbacks blocked the loop ${share(stalls.share)} of the time`
          : 'every request takes long, not just a few';
    return { limit, why };
  }
  const by = stalls.byCause[0];
  const part = Math.min(0.97, stalls.share / Math.max(0.05, loop.busy));
  const saturated = loop.busy >= SATURATED;
  return {
    limit,
    weight: Math.min(1, 0.5 + stalls.share),
    ...(saturated && { causeOf: 'event-loop-cpu' as const }),
    sentence: `the event loop is blocked: ${count(stalls.count)} callbacks ran for up to ${time(stalls.longestMs)}, ${share(stalls.share)} of the time in total${by ? `; ${by.cause === NOT_A_REQUEST ? 'the cause is not a request but a timer or another event' : `the cause is ${by.cause}`}` : ''}.`,
    arithmetic: [
      `all ${count(metrics.maxConcurrency)} requests wait meanwhile; one that arrives at any time waits ${time(stalls.residualMs)} for it on average (sum of squares / 2 x time)`,
      `without it: ${rate(throughput)} req/s / (1 - ${share(part)})`,
    ],
    evidence: [
      { what: 'loop blocked by long callbacks', value: stalls.share, unit: '1', source: 'probe' },
      { what: 'longest callback', value: stalls.longestMs, unit: 'ms', source: 'probe' },
      ...stalls.byCause.slice(0, 3).map(({ cause, ms }) => ({
        what: `blocked by ${cause}`,
        value: ms,
        unit: 'ms',
        source: 'probe',
      })),
    ],
    predictions: saturated ? predictBusyLoop(metrics) : {},
    remedy: {
      change: `move ${by && by.cause !== NOT_A_REQUEST ? by.cause : 'the work'} to a worker thread, or split it into short pieces`,
      predictedThroughput: saturated
        ? scale(predictWithoutStalls(metrics, part, by?.cause === NOT_A_REQUEST), throughput)
        : predictIdleLoopWithoutStalls(metrics, stalls),
      ...(!saturated && { predictedP99Ms: predictP99(metrics, stalls) }),
      nextLimit: 'event-loop-cpu',
    },
  };
};

type Stalls = NonNullable<Metrics['base']['inside']>['stalls'];

/**
 * Predicts throughput without stalls of a loop that is not busy otherwise. An open load stays at its rate. In a closed
 * one the requests return sooner, by their mean wait for a stall; but they were all served in the time without stalls.
 */
function predictIdleLoopWithoutStalls(
  { model, throughput, responseMs }: Metrics,
  { share: blocked, residualMs }: Stalls,
): Interval {
  if (model === 'open') return widen(throughput, 0.05);
  const sooner = (throughput * responseMs) / Math.max(0.1, responseMs - residualMs);
  return {
    low: throughput,
    high: Math.min(sooner, (1.1 * throughput) / Math.max(0.1, 1 - blocked)),
  };
}

/** Predicts p99 without stalls: the slowest responses waited for one, the longest at most. */
function predictP99({ base, responseMs }: Metrics, { longestMs }: Stalls): Interval {
  const p99 = base.load.latencyMs.p99 ?? responseMs;
  const usual = Math.min(p99, base.load.latencyMs.p50 ?? responseMs);
  return { low: usual, high: Math.max(2 * usual, p99 - longestMs) };
}

/** Predicts the gain of a busy loop without its stalls, whose garbage is collected with that of the requests. */
function predictWithoutStalls(metrics: Metrics, part: number, isPeriodic: boolean): Interval {
  const { low, high } = computeGain(part, MEASURED_STALL_SHARE.low, MEASURED_STALL_SHARE.high);
  const garbage = isPeriodic ? computeGarbageShare(metrics) : 0;
  // Periodic work leaves the requests cold caches: without it they cost less, as without any other dominant work.
  const minUncertain = isPeriodic ? MIN_DOMINANT_SHARE : MIN_UNCERTAIN_SHARE;
  if (part >= minUncertain) return { low, high: computeDominantGain(part, garbage).high };
  return { low, high: Math.max(high, computeGain(part + garbage, 1, 1).high) };
}

/** Minimum share of the loop's time in the stalls of requests at which the rest is too small to be known well. */
const MIN_UNCERTAIN_SHARE = 0.9;

/** The probe's label of a long callback that no request caused. */
const NOT_A_REQUEST = 'not a request';

/** Measured share of long callbacks: measurement begins after the callback does, and leaves out shorter ones. */
const MEASURED_STALL_SHARE = { low: 0.95, high: 1.03 };

/** Computes the throughput at which the CPU time per request, including that of child processes, takes all cores. */
function computeCoreLimit({ base, throughput }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu) return Number.POSITIVE_INFINITY;
  const used = cpu.server + cpu.others + estimateGeneratorCores(cpu, throughput);
  return (throughput * cpu.cores) / Math.max(0.02, used);
}

/** Maximum of the cores that a server uses if it mostly sleeps. */
const MAX_COLD_CORES = 0.3;
/** Maximum of what a core then serves once it is busy, relative to its present cost, and of one that works now. */
const [MAX_WARM_GAIN, MAX_BUSY_GAIN] = [3, 1.3];

/**
 * Predicts throughput when the loop no longer waits: bounded by its CPU time and the requests in flight, and for calls
 * of `node:fs` by the thread pool, which runs them then.
 */
function predictWithoutWaiting(metrics: Metrics, part: number): Interval {
  const { loop, maxConcurrency, throughput, loopTime } = metrics;
  const eachMs = Math.max(0.001, loop?.busyMs ?? 0);
  const warm = estimateWarmLimit(metrics);
  const inFlight = (maxConcurrency * 1000) / eachMs;
  const byPool = (readPoolSize(metrics) * 1000) / (eachMs * part);
  const byCores = computeCoreLimit(metrics);
  // Cores that mostly sleep take more time per request than busy ones, as a loop does.
  const isCold = (metrics.base.outside?.cpu.server ?? 1) < MAX_COLD_CORES;
  const maxPerCore = isCold ? MAX_WARM_GAIN : MAX_BUSY_GAIN;
  const maxThroughput = Math.max(
    throughput,
    Math.min(warm?.high ?? Number.POSITIVE_INFINITY, inFlight, maxPerCore * byCores),
  );
  if (loopTime === null)
    return {
      low: Math.max(throughput, Math.min(maxThroughput, byPool) * 0.9),
      high: maxThroughput,
    };
  if (loopTime.files > 0.5 * part)
    return widen(Math.max(throughput, Math.min(maxThroughput, byPool)), 0.1);
  const minThroughput = Math.min(
    warm?.low ?? Number.POSITIVE_INFINITY,
    0.9 * inFlight,
    0.9 * byCores,
  );
  return { low: Math.max(throughput, minThroughput), high: maxThroughput };
}

/**
 * Predicts throughput without the calls: at least that of the rest of the loop's time. A part of that belongs to the
 * calls as well, so that only what a server can serve that does nothing is an upper bound.
 */
function predictWithoutCall({ throughput }: Metrics, part: number): Interval {
  return { low: throughput / (1 - Math.min(0.98, part)), high: MAX_CALL_GAIN * throughput };
}

/** Gain that no server reaches: the reference server bounds the prediction. */
const MAX_CALL_GAIN = 1000;

export const detectEventLoopSyncWait: Detector = (metrics) => {
  const { loop, throughput } = metrics;
  const limit = 'event-loop-sync-wait';
  if (!loop?.isFromProbe) return null;
  if (metrics.base.outside && isThrottled(metrics.base.outside)) {
    return { limit, why: 'the CPU quota stops the process' };
  }
  if (!metrics.base.outside?.hasRunQueueTimes) return null;
  // How steal is spread over threads is unknown: this thread may have lost twice its estimated part.
  const steal = metrics.machine?.cpu.steal ?? metrics.base.outside.cpu.steal;
  const further = Math.min(loop.stolen, Math.max(0, steal - loop.stolen));
  const surely = loop.waiting - further;
  if (surely < 0.15 || surely < 0.25 * loop.busy) {
    const taken = further > 0.01 ? `, of which the host may have taken ${share(further)}` : '';
    return {
      limit,
      why: `the loop is busy without a core ${share(loop.waiting)} of the time${taken}`,
    };
  }
  const part = loop.waiting / loop.busy;
  return {
    limit,
    weight: Math.min(1, 0.5 + part),
    sentence: `the event loop waits in synchronous calls: it is busy ${share(loop.busy)} of the time, but on a core only ${share(loop.run)}.`,
    arithmetic: [
      `busy ${share(loop.busy)} - on a core ${share(loop.run)} - queued for one ${share(loop.queued)}${loop.stolen > 0.01 ? ` - taken by the machine's host ${share(loop.stolen)}` : ''} = ${share(loop.waiting)} of the time waiting in a synchronous call`,
      `${time((loop.waiting * 1000) / throughput)} of that per request`,
    ],
    evidence: [
      ...buildLoopEvidence(metrics),
      { what: 'loop busy without a core', value: loop.waiting, unit: '1', source: 'probe, proc' },
    ],
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'the asynchronous form of the call (fs.promises, execFile, await instead of ...Sync); where each request starts a process, one long-lived process',
      predictedThroughput: predictWithoutWaiting(metrics, part),
      nextLimit: 'event-loop-cpu',
      ...(loop.busy >= SATURATED && {
        alternatives: [
          {
            change:
              'no such call in a request: its result is kept for a while, or comes beforehand',
            predictedThroughput: predictWithoutCall(metrics, part),
          },
        ],
      }),
    },
  };
};
