import { usageError } from '../errors/millrace-error.js';
import { inflateResult } from '../files/inflate-result.js';
import { parseResult } from '../files/result-file.js';
import type { LoadResult } from '../load/result.js';
import { mergeResults } from '../merge/merge.js';
import type { MeasuredClock } from './connection/clock.js';
import { formatFailure, type HostFailure } from './failure.js';

/** The result of a host's share, and its clock. */
export interface HostShare {
  host: string;
  result: LoadResult;
  clock: MeasuredClock;
}

/**
 * Unpacks the result of a host, or throws a usage error of a line; its times become those of this machine's clock, by which
 * the load was to begin at `atMs`.
 */
export function unpackResult(
  deflated: string,
  { offsetMs }: MeasuredClock,
  atMs: number,
): LoadResult {
  const name = 'its result';
  const result = parseResult(inflateResult(deflated, name), name) as unknown as LoadResult;
  if (!Number.isFinite(result.startedAtMs)) throw usageError(`${name} is not one of a load`);
  const startedAtMs = result.startedAtMs - offsetMs;
  const { start } = result;
  return {
    ...result,
    startedAtMs,
    startedAt: new Date(startedAtMs).toISOString(),
    ...(start && { start: { ...start, at: new Date(atMs).toISOString() } }),
  };
}

/** Merges the shares of the hosts that have one; the result says which have none. */
export function mergeShares(
  shares: readonly HostShare[],
  failures: readonly HostFailure[],
  failOn: readonly string[],
): LoadResult {
  const merged = mergeResults(
    shares.map(({ result }) => result),
    { names: shares.map(({ host }) => host), failOn, allowMissing: true },
  );
  const clocks = new Map(shares.map(({ host, clock }) => [host, clock]));
  const generators = (merged.generators ?? []).map((generator) => {
    const clock = clocks.get(generator.name ?? '');
    if (!clock) return generator;
    const { offsetMs, boundMs } = clock;
    return { ...generator, clock: { offsetMs, boundMs } };
  });
  const warnings = failures.map((failure) => ({
    id: 'host-failed',
    message: `${formatFailure(failure)}.`,
  }));
  return { ...merged, generators, warnings: [...warnings, ...merged.warnings] };
}
