import { LatestValue } from '../load/engine/latest-value.js';
import type { ExplainOptions } from './options.js';
import type { ExplainProgress, Explanation } from './result.js';

/** A run: the promise of its explanation, and what it does while it goes on. Iterating ends with the run. */
export interface ExplainRun extends Promise<Explanation>, AsyncIterable<ExplainProgress> {}

/**
 * Finds out what limits a service: loads it, looks at it from both sides and from inside, changes one thing at a time,
 * and gives the limit that fits, with what it predicted and what came out.
 *
 * Rejects with a `MillraceError` where there can be no answer: unusable options, no server, a command that does not
 * start, no response at all. It rejects with the signal's reason if that is aborted before the load as asked for has been
 * seen; later, what was found by then is given.
 *
 * @example
 * const { verdict, remedy } = await explain({ command: ['node', 'server.js'], connections: 50 });
 * console.log(verdict.sentence, remedy?.change);
 */
export function explain(options: ExplainOptions): ExplainRun {
  const progress = new LatestValue<ExplainProgress>();
  const result = runExplain(options, (step) => progress.push(step)).finally(() => progress.end());
  return progress.follow(result);
}

async function runExplain(
  options: ExplainOptions,
  onProgress: (progress: ExplainProgress) => void,
): Promise<Explanation> {
  // Most who load do not ask why.
  const { runExplain } = await import('./run.js');
  return runExplain(options, onProgress);
}
