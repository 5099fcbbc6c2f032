import { bytes, share, time } from '../../../format/units.js';
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

export const GC_OLD = {
  id: 'gc-old',
  group: 'CPU',
  text: {
    title: 'Collecting long-lived objects',
    what: 'Collections of the whole heap stop the loop: many objects stay in memory, or the heap is nearly full.',
    shows:
      "Major collections take a good part of the loop's busy time; the heap may be near its limit.",
    experiment: "'heap x2' restarts the server with twice the heap: fewer collections.",
    formula: 'maximum gain = 1 / (1 - share of the time in collections)',
    remedy:
      'Keep fewer objects for longer than a request, or a larger heap (--max-old-space-size).',
    detected: 'by experiment',
    note: 'Needs the probe; the experiment needs a server that millrace started.',
  },
  detectors: [detectGcOld],
  remedyExperiments: [{ experiment: 'heap-x2', isPartial: true }],
  savesLoopTime: true,
  causedByObjects: 'collected',
} satisfies Limit;

function detectGcOld(metrics: Metrics): Detected {
  const limit = 'gc-old';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const major = inside.gc.old + inside.gc.other;
  const young = inside.gc.young / Math.max(0.05, metrics.loop.busy);
  // Performance entries leave out incremental marking; a profile includes it.
  const part = Math.max(
    major / Math.max(0.05, metrics.loop.busy),
    (metrics.loopTime?.gc ?? 0) - young,
  );
  if (metrics.loop.busy < SATURATED) return { limit, why: describeIdleLoop(metrics.loop) };
  const full = inside.heap.usedMb / Math.max(1, inside.heap.limitMb);
  if (part < MIN_GC_SHARE) {
    return { limit, why: `collecting old objects takes ${share(part)} of the loop's time` };
  }
  return {
    limit,
    ...describeGcShare(part, metrics),
    sentence: `garbage collection: collecting old objects takes ${share(part)} of the loop's time, up to ${time(inside.gc.longestMs)} at once; ${share(full)} of the heap's limit is used.`,
    evidence: [
      { what: 'collecting old objects', value: part, unit: '1', source: 'probe, profile' },
      { what: 'longest collection', value: inside.gc.longestMs, unit: 'ms', source: 'probe' },
      { what: 'heap used', value: inside.heap.usedMb, unit: 'MB', source: 'probe' },
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'heap-x2': includeFreedCore(computeGain(part, 0.2, 1.1), metrics),
    },
    remedy: {
      change:
        full > 0.7
          ? 'a larger heap (--max-old-space-size), or keep fewer objects'
          : `keep fewer objects for longer than a request: caches, large arrays, closures; and reuse large Buffers, as memory outside the heap (${bytes(inside.heap.externalMb * 1e6)} now) triggers collections too`,
      // A heap with enough room is hardly collected.
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.6, 1.1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
    },
  };
}
