import type { Interval } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';

/** Range of a program's CPU time per request under load, relative to that of a single request, if it serves requests. */
const SAME_COST: Interval = { low: 0.4, high: 2.5 };

/**
 * Whether a program computes about as much for each request as for a single one.
 *
 * @param cores what it uses under load
 * @param aloneCores what it uses with one request in flight
 */
export function hasSameCost(
  cores: number,
  aloneCores: number,
  { single, throughput }: Metrics,
): boolean {
  if (!single || single.throughput === 0 || throughput === 0) return false;
  const ratio = cores / throughput / Math.max(1e-9, aloneCores / single.throughput);
  return SAME_COST.low <= ratio && ratio <= SAME_COST.high;
}
