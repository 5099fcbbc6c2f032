import { share, time } from '../../format/units.js';
import type { LoadResult } from '../result.js';

type Generator = Omit<LoadResult['generator'], 'clientBound' | 'reasons'>;

type Latency = Pick<LoadResult['latencyMs'], 'p50' | 'p99'>;

/** The smallest share of busy time at which the generator counts as the limit. */
export const MIN_BUSY = 0.9;
const MIN_STARVED = 0.2;
const MIN_LATENESS_MS = 1;
const MIN_LATENESS_SHARE = 0.1;

/**
 * Finds why the generator was the limit, in words; empty if it was not. The rule of CLIENT-BOUND: the busiest worker was
 * busy at least 90 % of the time; or the most starved worker was ready and had no core at least 20 % of the time; or
 * requests were sent more than 1 ms late and this was more than 10 % of the latency (both at the median, or both at p99).
 */
export function findClientBoundReasons(generator: Generator, latency: Latency): string[] {
  const { busy, starved, latenessMs } = generator;
  const reasons: string[] = [];
  if (busy >= MIN_BUSY) {
    reasons.push(`a thread of the generator was busy ${share(busy)} of the time`);
  }
  if (starved !== null && starved >= MIN_STARVED) {
    reasons.push(`a thread of the generator waited for a core ${share(starved)} of the time`);
  }
  for (const percentile of ['p50', 'p99'] as const) {
    const late = latenessMs?.[percentile] ?? 0;
    if (late <= MIN_LATENESS_MS || late <= MIN_LATENESS_SHARE * (latency[percentile] ?? 0))
      continue;
    reasons.push(
      `requests were sent late: ${time(late)} after their intended time at ${percentile}`,
    );
    break;
  }
  return reasons;
}
