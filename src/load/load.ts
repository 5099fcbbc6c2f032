import { runLoad } from './engine/run.js';
import { Snapshots } from './engine/snapshots.js';
import type { LoadOptions } from './options.js';
import type { LoadResult, Snapshot } from './result.js';

/**
 * A run: the promise of its result, and its snapshots while it goes on, ten a second. Iterating ends with the run and
 * throws what the promise rejects with.
 */
export interface LoadRun extends Promise<LoadResult>, AsyncIterable<Snapshot> {}

/**
 * Loads a server and measures it. Requests that fail are counts in the result; the promise rejects with a
 * `MillraceError` where there can be no result: unusable options, an unreachable target, a command that does not
 * start, a missing addon. It rejects with the signal's reason if that is aborted before a request was sent.
 *
 * @example
 * const result = await load({ url: 'http://127.0.0.1:8080/', connections: 50, duration: '5s' });
 * console.log(result.throughput.mean, result.latencyMs.p99);
 *
 * @example
 * const run = load({ command: ['node', 'server.js'], rate: 500 });
 * for await (const { throughput, p99Ms } of run) console.log(throughput, p99Ms);
 * const { requests } = await run;
 */
export function load(options: LoadOptions): LoadRun {
  const snapshots = new Snapshots();
  const result = runLoad(options, { snapshots })
    .then((measured) => measured.result)
    .finally(() => snapshots.end());
  return snapshots.follow(result);
}
