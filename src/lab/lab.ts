import { type Run, startRun } from '../load/engine/run-handle.js';
import type { LabOptions } from './options.js';
import type { LabProgress, LabResult } from './result.js';

/** A run: a promise of its result that can be iterated for its progress. The iteration ends with the run. */
export interface LabRun extends Run<LabResult, LabProgress> {}

/**
 * Repeats studies of HTTP in Node.js on this machine, with the same kind of servers and loads, and explains the results.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` if there is no such study.
 * @example
 * const { studies } = await lab({ study: 'pipe-vs-buffer', quick: true });
 * console.log(studies[0].claims);
 */
export function lab(options: LabOptions): LabRun {
  return startRun(options, async (own, onProgress) => {
    // Imported on demand: most users of the package only run loads.
    const { run } = await import('./run.js');
    return run(own, onProgress);
  });
}
