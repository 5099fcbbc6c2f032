import { runLoad } from './engine/run.js';
import { Snapshots } from './engine/snapshots.js';
import type { LoadOptions } from './options.js';
import type { LoadResult, LoadSnapshot } from './result.js';

/**
 * A run: the promise of its result, and an iterable of its snapshots, ten a second. The iteration ends with the run; if
 * the promise rejects, it throws the same error.
 */
export interface LoadRun extends Promise<LoadResult>, AsyncIterable<LoadSnapshot> {}

/**
 * Loads a server and measures it. Failed requests are counted in the result. The promise rejects with a `MillraceError`
 * if there is no result: invalid options, an unreachable target, a command that does not start, a missing addon. It
 * rejects with the signal's reason if the signal is aborted before a request was sent.
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
