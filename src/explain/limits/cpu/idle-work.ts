import { rate, share } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { computeGarbageShare, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { computeGain, type Detected, scale } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const IDLE_WORK = {
  id: 'idle-work',
  group: 'CPU',
  text: {
    title: 'Background work',
    what: 'A timer or a scan keeps the loop busy without any request.',
    shows: 'Before the load the server uses a good part of a core.',
    experiment: 'None of its own: explain cannot stop the timer.',
    formula: 'maximum gain = 1 / (1 - CPU without load)',
    remedy: 'Find the timer in the profile, and run it less often.',
    confirm:
      'switch the background work off for one run: throughput rises by the share of the core that it takes without load',
    detected: 'by its signature',
    note: 'The experiments confirm that the loop is busy; that this limit is the cause is measured, not tried.',
  },
  needsOwnLoad: 'the server without any request is not seen',
  detectors: [detectIdleWork],
  savesLoopTime: true,
  causingFunction: 'most expensive at rest',
} satisfies Limit;

function detectIdleWork(metrics: Metrics): Detected {
  const { idleShare, throughput, loop } = metrics;
  const limit = 'idle-work';
  if (idleShare === null) return null;
  if (idleShare < 0.1)
    return { limit, why: `without load the server used ${share(idleShare)} of a core` };
  if (loop && loop.busy < SATURATED) {
    return { limit, why: `the event loop is only ${share(loop.busy)} busy` };
  }
  if (metrics.loopTime?.background === 0) {
    return {
      limit,
      why: 'the work without load takes none of the busiest loop under load',
    };
  }
  return {
    limit,
    ...(loop && loop.busy >= SATURATED && { causeOf: 'event-loop-cpu' as const }),
    weight: Math.min(1, 0.45 + idleShare),
    sentence: `background work: without any request the loop uses ${share(idleShare)} of a core.`,
    arithmetic: [`without it: ${rate(throughput)} req/s / (1 - ${share(idleShare)})`],
    evidence: [{ what: 'CPU without load', value: idleShare, unit: 'cores', source: 'proc' }],
    predictions: loop && loop.busy >= SATURATED ? predictBusyLoop(metrics) : {},
    remedy: {
      change: 'find the timer or scan (the profile shows it) and run it less often',
      predictedThroughput: scale(predictWithoutIdleWork(metrics, idleShare), throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/**
 * Predicts the gain without background work. A timer runs less often in a busy loop than in an idle one: a profile
 * shows how much time it takes there.
 */
function predictWithoutIdleWork(metrics: Metrics, idleShare: number): Interval {
  const unasked = metrics.loopTime?.background ?? null;
  const { low, high } =
    unasked === null ? computeGain(idleShare, 0.6, 1.1) : computeGain(unasked, 0.9, 1.1);
  const all = (unasked ?? idleShare) + computeGarbageShare(metrics);
  return { low, high: Math.max(high, computeGain(Math.min(0.95, all), 1, 1).high) };
}
