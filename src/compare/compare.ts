import { type Run, startRun } from '../load/engine/run-handle.js';
import type { CompareOptions } from './options.js';
import type { CompareProgress, ComparisonResult } from './result.js';

/** A comparison: a promise of its result that can be iterated for its progress. The iteration ends with the comparison. */
export interface ComparisonRun extends Run<ComparisonResult, CompareProgress> {}

/**
 * Compares two servers, two versions of one, or stored results. Runs alternate between both sides, each with a new server,
 * until the interval of the ratio is narrow enough or the time is over. Rejects as `load()` does, and with a usage error
 * where the answers of both sides or the plans of results differ.
 *
 * @example
 * const { verdict, rows } = await compare({
 *   url: '/',
 *   a: { command: ['node', 'app.js'], cwd: '../main' },
 *   b: { command: ['node', 'app.js'] },
 * });
 * console.log(verdict.word, rows[0]?.ratio);
 */
export function compare(options: CompareOptions): ComparisonRun {
  return startRun(options, async (own, onProgress) => {
    // Imported on demand: most users of the package only run loads.
    const { run } = await import('./run.js');
    return run(own, onProgress);
  });
}
