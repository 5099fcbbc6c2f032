import type { Interval } from '../../../statistics/types.js';
import { computeHalvedShare } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { type Hypothesis, scale } from '../hypothesis.js';

/**
 * Predicts the throughput with twice and with half the connections.
 *
 * @param halved relative to the share of the requests that remain in flight
 */
export function predictByConnections(
  metrics: Metrics,
  doubled: Interval,
  halved: Interval,
): Hypothesis['predictions'] {
  return {
    'connections-x2': doubled,
    'connections-half': scale(halved, computeHalvedShare(metrics)),
  };
}

/** Predicts throughput with `factor` times the connections where requests do not queue, bounded by the loop. */
export function predictMoreConnections(metrics: Metrics, factor: number): Interval {
  const headroom = metrics.loop ? 1 / Math.max(0.01, metrics.loop.busy) : factor;
  const gain = Math.min(factor, headroom);
  // A busier loop handles more events per turn: its time per request falls.
  return { low: gain * 0.9, high: Math.min(factor, gain * 1.4) * 1.05 };
}
