import { runLoad } from './engine/run.js';
import { followRun, type Run } from './engine/run-handle.js';
import { Snapshots } from './engine/snapshots.js';
import type { LoadOptions } from './options.js';
import type { LoadResult, LoadSnapshot } from './result.js';

/**
 * A run: the promise of its result, and an iterable of its snapshots, ten a second. The iteration ends with the run; if
 * the promise rejects, it throws the same error.
 */
export interface LoadRun extends Run<LoadResult, LoadSnapshot> {}

/** Loads a server and measures it; see `load()` of `compare/baseline.ts`, the public one. */
export function load(options: LoadOptions): LoadRun {
  const snapshots = new Snapshots();
  return followRun(options, snapshots, async (own) => (await runLoad(own, { snapshots })).result);
}
