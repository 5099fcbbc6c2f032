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
