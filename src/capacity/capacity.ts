import { LatestValue } from '../load/engine/latest-value.js';
import type { CapacityOptions } from './options.js';
import type { CapacityProgress, CapacityResult } from './result.js';

/** A run: the promise of its result, and what it does while it goes on. Iterating ends with the run. */
export interface CapacityRun extends Promise<CapacityResult>, AsyncIterable<CapacityProgress> {}

/**
 * Finds out how much a server can take: with `slo` the highest rate that holds it, else throughput over connections with
 * its maximum and knee. Rejects as `load()` does.
 *
 * @example
 * const { search } = await capacity({ url: 'http://127.0.0.1:8080/', slo: 'p99<50ms', budget: '30s' });
 * console.log(search?.rate?.low);
 */
export function capacity(options: CapacityOptions): CapacityRun {
  const progress = new LatestValue<CapacityProgress>();
  const result = runCapacity(options, (step) => progress.push(step)).finally(() => progress.end());
  return progress.follow(result);
}

async function runCapacity(
  options: CapacityOptions,
  onProgress: (progress: CapacityProgress) => void,
): Promise<CapacityResult> {
  // Most who load do not ask for it.
  const { run } = await import('./run.js');
  return run(options, onProgress);
}
