// A load whose result is compared with an earlier one.
import { runLoad } from '../load/engine/run.js';
import { followRun, type Run } from '../load/engine/run-handle.js';
import { Snapshots } from '../load/engine/snapshots.js';
import { type LoadRun, load as loadAlone } from '../load/load.js';
import type { LoadOptions } from '../load/options.js';
import type { LoadResult, LoadSnapshot } from '../load/result.js';
import { checkOptions, isObject, shape } from '../validation/shape.js';
import type { ComparisonResult } from './result.js';

/** Options of `load()` with an earlier result. */
export interface BaselineOptions extends LoadOptions {
  /**
   * An earlier result of the same load, or the file that holds it (a pattern with `*` and `?` for several), with which the
   * result is compared.
   */
  baseline: string | LoadResult;
}

/** The result of a load, and its comparison with the earlier one: that is A, this run is B. */
export interface ComparedLoadResult extends LoadResult {
  comparison: ComparisonResult;
}

/** A run of a load whose result is compared with an earlier one. */
export interface ComparedLoadRun extends Run<ComparedLoadResult, LoadSnapshot> {}

/**
 * Loads a server and measures it. Failed requests are counted in the result. The promise rejects with a `MillraceError`
 * if there is no result: invalid options, an unreachable target, a command that does not start, a missing addon. It
 * rejects with the signal's reason if the signal is aborted before a request was sent. With `baseline` the result is
 * compared with an earlier one; a load that is not the same is refused before it starts.
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
export function load(options: BaselineOptions): ComparedLoadRun;
export function load(options: LoadOptions & { baseline?: string | LoadResult }): LoadRun;
export function load(options: LoadOptions & { baseline?: string | LoadResult }): LoadRun {
  if (!isObject(options) || !('baseline' in options)) return loadAlone(options);
  const { baseline, ...own } = options;
  if (baseline === undefined) return loadAlone(own);
  const snapshots = new Snapshots();
  return followRun(own, snapshots, (options) => loadAndCompare(baseline, options, snapshots));
}

const BASELINE = shape(
  'a result of load() or the name of its file',
  (value) => typeof value === 'string' || isObject(value),
);

async function loadAndCompare(
  baseline: string | LoadResult,
  options: LoadOptions,
  snapshots: Snapshots,
): Promise<ComparedLoadResult> {
  checkOptions({ baseline }, { baseline: BASELINE });
  const [{ readBaseline }, { compare }] = await Promise.all([
    import('./stored/baseline.js'),
    import('./compare.js'),
  ]);
  const a = await readBaseline(baseline, options);
  const { result } = await runLoad(options, { snapshots });
  // What differs nevertheless, as a server that speaks HTTPS by now, is a difference of the comparison: the run is not lost.
  const b = { results: [result], label: 'this run' };
  const comparison = await compare({ a, b, allowDifference: true });
  return { ...result, comparison };
}
