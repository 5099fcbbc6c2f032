import { usageError } from '../errors/millrace-error.js';
import { checkVersion } from '../files/result-file.js';
import type { LoadResult } from '../load/result.js';
import { isObject } from '../validation/shape.js';

/** The parts of a load that no other kind of result has together. */
const PARTS = ['plan', 'requests', 'latencyMs', 'histograms', 'generator', 'throughput'] as const;
const LISTS = ['byName', 'series', 'warnings', 'errors'] as const;

/** Refuses what is no result of a load, or one that lacks the sums that a merge needs; the message begins with its name. */
export function checkMergeable(result: LoadResult, name: string): void {
  if (!isObject(result)) throw usageError(`${name} is not a result of millrace load`);
  checkVersion(result, name);
  const isLoad = PARTS.every((part) => isObject(result[part]));
  if (!isLoad || !LISTS.every((part) => Array.isArray(result[part]))) {
    const kind = (result as { kind?: unknown }).kind;
    const what = typeof kind === 'string' ? ` (it is of another kind: ${kind})` : '';
    throw usageError(`${name} is not a result of millrace load or run${what}`);
  }
  const { histograms, byName, iterations } = result;
  const isOld =
    histograms.lateness === undefined ||
    byName.some(({ sums }) => sums === undefined) ||
    (isObject(iterations) && iterations.sums === undefined);
  if (isOld) {
    throw usageError(
      `${name} was stored by an earlier version of millrace, without the sums that a merge needs: measure again`,
    );
  }
}
