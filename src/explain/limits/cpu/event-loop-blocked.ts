import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { computeGarbageShare, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import {
  computeDominantGain,
  computeGain,
  type Detected,
  MIN_DOMINANT_SHARE,
  scale,
  widen,
} from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const EVENT_LOOP_BLOCKED = {
  id: 'event-loop-blocked',
  group: 'CPU',
  text: {
    title: 'The event loop is blocked by long tasks',
    what: 'A few callbacks compute for a long time each. All other requests wait meanwhile.',
    shows:
      'Single callbacks run for 20 ms or more and take a good part of the loop time or of the response times, though most requests are short. The probe names the route that caused them.',
    experiment: 'None of its own: it would require a load without the long requests.',
    formula:
      'mean wait = sum of the squares of the long tasks / (2 x time), for a request that arrives at any time',
    remedy: 'Move the long work to a worker thread, or split it into short pieces.',
    confirm:
      'leave the route with the long tasks out of the load: the p99 of the others falls to their own time',
    detected: 'by its signature',
    note: 'Needs the probe. The experiments confirm that the loop is busy; that this limit is the cause is measured, not tried.',
  },
  detectors: [detectEventLoopBlocked],
  savesLoopTime: true,
  mattersAtSustainedRate: true,
  causingFunction: 'longest task',
} satisfies Limit;

/** Minimum share of the time that is blocked: with less, fewer than one request in a hundred waits for it. */
const MIN_STALLED_SHARE = 0.01;
/** Minimum number of stalls that take a small part of the time: a single one may be chance. */
const MIN_STALLS = 1.5;

function detectEventLoopBlocked(metrics: Metrics): Detected {
  const { base, loop, throughput, responseMs } = metrics;
  const limit = 'event-loop-blocked';
  const stalls = base.inside?.stalls;
  if (!stalls || !loop) return null;
  const rare = stalls.count / base.load.durationMs < (0.2 * throughput) / 1000;
  const matters =
    stalls.share >= 0.12 ||
    (stalls.count >= MIN_STALLS &&
      stalls.share >= MIN_STALLED_SHARE &&
      stalls.residualMs > 0.3 * responseMs);
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
    sentence: `the event loop is blocked: ${plural(Math.round(stalls.count), 'callback')} ran for up to ${time(stalls.longestMs)}, ${share(stalls.share)} of the time in total${by ? `; ${by.cause === NOT_A_REQUEST ? 'the cause is not a request but a timer or another event' : `the cause is ${by.cause}`}` : ''}.`,
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
}

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
