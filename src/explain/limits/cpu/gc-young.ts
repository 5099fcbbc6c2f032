import { share } from '../../../format/units.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import {
  describeGcShare,
  describeIdleLoop,
  includeFreedCore,
  MIN_GC_SHARE,
} from '../../hypotheses/event-loop/garbage-collection.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { computeGain, type Detected, scale } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const GC_YOUNG = {
  id: 'gc-young',
  group: 'CPU',
  text: {
    title: 'Collecting short-lived objects',
    what: "Each request creates many short-lived objects, and collecting them takes a good part of the loop's time.",
    shows: "Minor collections take a good part of the loop's busy time.",
    experiment:
      "'young generation x4' restarts the server with --max-semi-space-size=64: fewer collections, more throughput.",
    formula: 'maximum gain = 1 / (1 - share of the time in collections)',
    remedy: 'Fewer objects per request, or a larger young generation.',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  detectors: [detectGcYoung],
  remedyExperiments: [{ experiment: 'young-generation-x4' }],
  savesLoopTime: true,
  causedByObjects: 'collected',
} satisfies Limit;

function detectGcYoung(metrics: Metrics): Detected {
  const limit = 'gc-young';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const part = inside.gc.young / Math.max(0.05, metrics.loop.busy);
  if (metrics.loop.busy < SATURATED) return { limit, why: describeIdleLoop(metrics.loop) };
  if (part < MIN_GC_SHARE)
    return { limit, why: `collecting young objects takes ${share(part)} of the loop's time` };
  return {
    limit,
    ...describeGcShare(part, metrics),
    sentence: `garbage collection: collecting young objects takes ${share(part)} of the loop's time.`,
    evidence: [
      { what: 'collecting young objects', value: inside.gc.young, unit: '1', source: 'probe' },
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'young-generation-x4': includeFreedCore(computeGain(part, 0.25, 1.15), metrics),
    },
    remedy: {
      change: 'fewer objects per request, or a larger young generation: --max-semi-space-size=64',
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.25, 1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
      settings: { environment: { NODE_OPTIONS: '--max-semi-space-size=64' } },
      alternatives: [
        {
          change: 'no objects that outlive the request or its waits: made late, kept short',
          predictedThroughput: scale(
            includeFreedCore(computeGain(part, 0.8, 1.05), metrics),
            metrics.throughput,
          ),
        },
      ],
    },
  };
}
