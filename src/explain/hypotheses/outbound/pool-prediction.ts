import type { Interval } from '../../../statistics/types.js';
import type { LimitId } from '../../limit-ids.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { deriveLoopLimit } from '../event-loop/loop-capacity.js';
import { isSlowerUnderLoad } from '../event-loop/queue.js';
import { type Hypothesis, widen } from '../hypothesis.js';

/** Gain of a second process, which has its own pool: the dependency may serve twice as much. */
export const SECOND_POOL_GAIN: Interval = { low: 0.95, high: 2.15 };

/**
 * Predicts 'pool-x2': up to twice the throughput, as far as the requests in flight use so many connections and the loop
 * keeps up. A dependency that is slower under load serves fewer.
 */
export function predictDoubledPool(
  metrics: Metrics,
  connections: number,
  call: OutboundView | null,
): Hypothesis['predictions'] {
  const byLoop = (deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY) / metrics.throughput;
  const maxGain = Math.min(2, metrics.maxConcurrency / connections, Math.max(1, byLoop));
  const isSlower = call !== null && isSlowerUnderLoad(metrics, call);
  return {
    'pool-x2': { low: Math.max(1.1, (isSlower ? 0.6 : 0.75) * maxGain), high: 2.1 },
    'dependency-time-pool-x2': { low: 0.8, high: isSlower ? 1.6 : 1.35 },
  };
}

/**
 * Proposes a pool for all requests in flight, of at most four times the present size, as predictions reach no further.
 */
export function proposeConnections({ maxConcurrency }: Metrics, max: number): number {
  return Math.min(Math.max(Math.ceil(maxConcurrency), 2 * max), 4 * max);
}

/**
 * Predicts throughput with a pool of the given capacity, and the next limit: the requests in flight, the loop, that
 * pool again, or the dependency where it responds slower under load already.
 */
export function predictWithPool(
  metrics: Metrics,
  byPool: number,
  call: OutboundView | null,
): Pick<Hypothesis['remedy'], 'predictedThroughput' | 'nextLimit'> {
  const { unloadedLatencyMs, maxConcurrency, model, overload } = metrics;
  // A load with a rate has as many requests in flight as it takes.
  const isBounded = unloadedLatencyMs !== null && model === 'closed' && overload === null;
  const byLoad = isBounded ? (maxConcurrency * 1000) / unloadedLatencyMs : Number.POSITIVE_INFINITY;
  const byLoop = deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY;
  const maxThroughput = Math.min(byPool, byLoop, byLoad);
  const bound: LimitId =
    byLoop === maxThroughput
      ? 'event-loop-cpu'
      : byLoad === maxThroughput
        ? 'too-few-connections'
        : 'outbound-pool';
  return {
    predictedThroughput: widen(maxThroughput, 0.12),
    nextLimit: call && isSlowerUnderLoad(metrics, call) ? 'saturated-dependency' : bound,
  };
}
