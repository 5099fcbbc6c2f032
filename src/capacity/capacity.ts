import { type Run, startRun } from '../load/engine/run-handle.js';
import type { CapacityOptions } from './options.js';
import type { CapacityProgress, CapacityResult } from './result.js';

/** A run: a promise of its result that can be iterated for its progress. The iteration ends with the run. */
export interface CapacityRun extends Run<CapacityResult, CapacityProgress> {}

/**
 * Measures the capacity of a server: with `slo` the highest rate at which the objective holds, otherwise throughput over
 * connections with its maximum and knee. Rejects as `load()` does.
 *
 * @example
 * const { search } = await capacity({ url: 'http://127.0.0.1:8080/', slo: 'p99<50ms', budget: '30s' });
 * console.log(search?.rate?.low);
 */
export function capacity(options: CapacityOptions): CapacityRun {
  return startRun(options, async (own, onProgress) => {
    // Imported on demand: most users of the package only run loads.
    const { run } = await import('./run.js');
    return run(own, onProgress);
  });
}
