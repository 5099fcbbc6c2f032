import { rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { deriveLoopLimit } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, type Hypothesis, widen } from '../../hypotheses/hypothesis.js';
import { canHostWithholdCores } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const GENERATOR_SATURATED = {
  id: 'generator-saturated',
  group: 'load',
  text: {
    title: 'The load generator is saturated',
    what: 'The load generator has no CPU time left: it measures itself, not the server.',
    shows:
      "The generator's busiest thread is busy nearly all of the time, with a core of its own, and the server's loop is not. The generator's sockets contain bytes that it has not read yet, those of the server contain none.",
    experiment:
      "'generator threads x2' spreads the same connections over twice the threads: throughput rises, up to x 2. 'connections x2' yields nothing. An 'path not found', whose response costs the server little, yields nothing either.",
    formula: 'maximum of the generator = its threads / its CPU time per request',
    remedy: 'More threads for the generator (-t), on cores that the server does not use.',
    detected: 'by experiment',
  },
  needsOwnLoad: 'there is no load generator',
  detectors: [detectGeneratorSaturated],
  remedyExperiments: [{ experiment: 'generator-threads-x2' }],
  addsCapacity: true,
  mattersAtSustainedRate: true,
} satisfies Limit;

/** Minimum busy share of the generator's thread at which it may be the limit, and at which it certainly is. */
const [MIN_BUSY, CERTAIN_BUSY] = [0.75, 0.85];

/** Minimum share of the time without a core that is more than an occasional interruption by other programs. */
const MIN_STARVED_SHARE = 0.2;

/**
 * Describes a generator that is busy because it lacks a core, so that its capacity is unknown; `null` if it does not.
 */
export function describeStarvedGenerator({ base }: Metrics): string | null {
  const { busy, starved } = base.load.generator;
  if (busy < MIN_BUSY || starved === null || starved < MIN_STARVED_SHARE) return null;
  const others = base.outside ? ` (others use ${base.outside.cpu.others.toFixed(2)} cores)` : '';
  return `the load generator's busiest thread is ${share(busy)} busy, and one of its threads is without a core ${share(starved)} of the time${others}`;
}

/** Predicts throughput with a second generator. Without a free core it takes time from the server and the first one. */
function predictTwoGenerators(metrics: Metrics): Interval {
  const room = computeCoreRoom(metrics);
  if (room > MIN_CORE_ROOM && !canHostWithholdCores(metrics.machine))
    return { low: 1.12, high: 2.05 };
  return { low: 0.7, high: Math.min(2.05, Math.max(1.1, 1.1 * room)) };
}

/** Computes the ratio of the cores available to server and generator to those that they use. */
function computeCoreRoom({ base: { outside } }: Metrics): number {
  if (!outside) return Number.POSITIVE_INFINITY;
  const { cores, others, self, server } = outside.cpu;
  return (cores - others) / Math.max(0.01, self + server);
}

/** Minimum ratio of available to used cores at which a second generator certainly raises throughput. */
const MIN_CORE_ROOM = 1.5;

function detectGeneratorSaturated(metrics: Metrics): Detected {
  const { base, loop, sockets } = metrics;
  const { generator } = base.load;
  const limit = 'generator-saturated';
  const unread = sockets?.client.unread ?? 0;
  const server = loop ? `; the server's loop is only ${share(loop.busy)} busy` : '';
  const starving = describeStarvedGenerator(metrics);
  if (starving) return { limit, why: starving };
  if (generator.busy < MIN_BUSY) {
    return { limit, why: `the generator's busiest thread is ${share(generator.busy)} busy` };
  }
  if (loop && loop.busy >= 0.95) {
    return { limit, why: `the server's loop is as busy (${share(loop.busy)})` };
  }
  const threads = base.load.plan.threads;
  return {
    limit,
    weight: loop && loop.busy > 0.8 ? 0.5 : generator.busy >= CERTAIN_BUSY ? 0.95 : 0.6,
    sentence: `the load generator: its ${threads === 1 ? 'thread is' : 'threads are'} ${share(generator.busy)} busy${server}.`,
    arithmetic: [
      `a thread of the generator needs ${time((generator.busy * 1000 * threads) / metrics.throughput)} per request: at most ${rate(metrics.throughput / generator.busy)} req/s`,
      ...(sockets ? [`${share(unread)} of its sockets contain bytes that it has not read`] : []),
    ],
    evidence: [
      { what: 'generator busy', value: generator.busy, unit: '1', source: 'load' },
      { what: 'sockets unread by the generator', value: unread, unit: '1', source: 'sockets' },
    ],
    unlisted: 'unchanged',
    predictions: {
      'generator-threads-x2': predictTwoGenerators(metrics),
      'connections-x2': widen(1, 0.12),
      // The generator is the limit on every path; only the response of another path may be shorter.
      'not-found-path': { low: 0.85, high: 1.7 },
    },
    remedy: {
      change:
        computeCoreRoom(metrics) > MIN_CORE_ROOM
          ? `more threads (-t ${threads * 2}), on cores that the server does not use`
          : 'another machine for the load generator: this one has no core left for it',
      predictedThroughput: {
        low: metrics.throughput * 1.1,
        high: Math.min(
          2 * metrics.throughput,
          deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY,
        ),
      },
      nextLimit: 'event-loop-cpu',
    },
  } satisfies Hypothesis;
}
