import { share, time } from '../../format/units.js';
import type { LoadResult } from '../result.js';

type Generator = Omit<LoadResult['generator'], 'clientBound' | 'reasons'>;

type Latency = Pick<LoadResult['latencyMs'], 'p50' | 'p99'>;

/** The share of the time from which on the generator itself limits the run. */
export const MIN_BUSY = 0.9;
const MIN_STARVED = 0.2;
const LATENESS_MS = 1;
const LATENESS_OF_LATENCY = 0.1;

/**
 * Why the generator was the limit, in words; empty if it was not. The one rule of CLIENT-BOUND: the busiest worker was
 * busy at least 90 % of the time, or the most starved one was ready and got no core at least 20 % of it, or sends left
 * more than 1 ms behind the schedule and made up more than 10 % of the latency (both at the median, or both at p99).
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
    if (late <= LATENESS_MS || late <= LATENESS_OF_LATENCY * (latency[percentile] ?? 0)) continue;
    reasons.push(`requests left late: ${time(late)} after their time at ${percentile}`);
    break;
  }
  return reasons;
}
