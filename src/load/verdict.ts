import { share, time } from '../report/units.js';
import type { LoadResult } from './result.js';

type Generator = Omit<LoadResult['generator'], 'clientBound' | 'reasons'>;

/** From where on the generator itself is what limits the run. */
const BUSY = 0.9;
const STARVED = 0.2;
const LATENESS_MS = 1;
const LATENESS_OF_LATENCY = 0.1;

/**
 * Why the generator was the limit, in words; empty if it was not. The one rule of CLIENT-BOUND: the busiest worker was
 * busy at least 90 % of the time, or the most starved one was ready and got no core at least 20 % of it, or sends left
 * more than 1 ms and more than 10 % of the median latency behind the schedule (99th percentile).
 */
export function clientBoundReasons(generator: Generator, latencyP50Ms: number | null): string[] {
  const { busy, starved, latenessMs } = generator;
  const reasons: string[] = [];
  if (busy >= BUSY) {
    reasons.push(`a thread of the generator was busy ${share(busy)} of the time`);
  }
  if (starved !== null && starved >= STARVED) {
    reasons.push(`a thread of the generator waited for a core ${share(starved)} of the time`);
  }
  const late = latenessMs?.p99 ?? 0;
  if (late > LATENESS_MS && late > LATENESS_OF_LATENCY * (latencyP50Ms ?? 0)) {
    reasons.push(`requests left late: ${time(late)} after their time at p99`);
  }
  return reasons;
}
