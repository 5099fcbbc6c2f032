import { type Run, startRun } from '../load/engine/run-handle.js';
import type { ExplainOptions } from './options.js';
import type { ExplainProgress, Explanation } from './result.js';

/**
 * A run of `explain()`: a promise of the explanation that can also be iterated for progress. Iteration ends with the
 * run.
 */
export interface ExplainRun extends Run<Explanation, ExplainProgress> {}

/**
 * Finds out what limits a service: loads it, measures it from outside and inside, changes one thing at a time, and
 * names the limit whose predictions match the measurements.
 *
 * Rejects with a `MillraceError` if there can be no answer: invalid options, no server, a command that does not start,
 * no response at all. If the signal is aborted before the baseline has been measured, it rejects with the signal's
 * reason; later, it resolves with the partial result.
 *
 * @example
 * const { verdict, remedy } = await explain({ command: ['node', 'server.js'], connections: 50 });
 * console.log(verdict.sentence, remedy?.change);
 */
export function explain(options: ExplainOptions): ExplainRun {
  return startRun(options, async (own, onProgress) => {
    // Imported on demand: most users of the package only run loads.
    const { runExplain } = await import('./run.js');
    return runExplain(own, onProgress);
  });
}
