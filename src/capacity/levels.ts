import type { LoadResult } from '../load/result.js';
import { mean } from '../statistics/moments.js';
import { studentQuantile } from '../statistics/student.js';
import { isKnown, latencyTimes, quantileMs, truncatedMeanMs } from '../statistics/times.js';
import type { CapacityLevel } from './result.js';

/** Share of failed requests from which on a level says nothing about throughput. */
export const tooManyErrors = 0.05;

/** A percentile is told if at least this many samples lie beyond it. */
const leastBeyond = 10;

/** Assumed where no level was measured twice. */
const unknownScatter = { scatter: 0.1, freedom: 10 };

/** The levels, each with all its blocks together: those in which the generator was not the limit, if there are any. */
export function levelsOf(measured: Measured): CapacityLevel[] {
  const levels = [...measured]
    .sort(([a], [b]) => a - b)
    .map(([connections, all]) => {
      const sound = all.filter((result) => !result.generator.clientBound);
      const results = sound.length > 0 ? sound : all;
      const blocks = results.map(throughputOf);
      return { connections, results, blocks, clientBound: sound.length === 0 };
    });
  const pooled = pooledScatter(levels.map(({ blocks }) => blocks));
  return levels.map(({ connections, results, blocks, clientBound }) => ({
    connections,
    blocks,
    throughput: interval(blocks, pooled),
    latencyMs: latencyOf(results),
    errorShare: mean(results.map(errorShareOf)),
    clientBound,
    serverCpu: cpuOf(results),
  }));
}

/** Levels that tell of the server. */
export function usable(levels: readonly CapacityLevel[]): CapacityLevel[] {
  return levels.filter((level) => !level.clientBound && level.errorShare <= tooManyErrors);
}

/**
 * Responses per second of a closed block with a warm-up. A request belongs to the warm-up if it was sent in it, and those in
 * flight at its end, a block's response time of them, are not among the completed. But each response makes the next request
 * due: as many were sent in the measurement as came in it.
 */
export function throughputOf({ requests, durationMs }: LoadResult): number {
  const { sent, ok, statusErrors, transportErrors, timeouts } = requests;
  const ended = ok + statusErrors + transportErrors + timeouts;
  return ended === 0 ? 0 : (((sent * 1000) / durationMs) * (ok + statusErrors)) / ended;
}

/** Share of the requests that failed, were answered with an error, or had no connection. */
export function errorShareOf({ requests }: LoadResult): number {
  const { ok, statusErrors, transportErrors, timeouts, notSent } = requests;
  const failed = statusErrors + transportErrors + timeouts + notSent.connectFailed;
  return ok + failed === 0 ? 0 : failed / (ok + failed);
}

/** Latency of blocks, with the percentiles that they have the samples for. */
export function latencyOf(results: readonly LoadResult[]): CapacityLevel['latencyMs'] {
  const times = latencyTimes(results.map(({ histograms }) => histograms));
  const told = (q: number) => (times.count * (1 - q) >= leastBeyond ? quantileMs(times, q) : null);
  const mean = times.count > 0 ? truncatedMeanMs(times, Number.POSITIVE_INFINITY) : null;
  const quantiles = { mean: 1, p50: 0.5, p99: 0.99 };
  const bounds = Object.entries(quantiles).filter(([, q]) => !isKnown(times, q));
  const atLeast = Object.fromEntries(bounds.map(([name]) => [name, true]));
  return { mean, p50: told(0.5), p99: told(0.99), ...(bounds.length > 0 && { atLeast }) };
}

interface Scatter {
  /** Standard deviation of the logarithm of a block's throughput. */
  scatter: number;
  freedom: number;
}

/** All levels scatter alike: three blocks alone would tell little. */
function pooledScatter(levels: readonly (readonly number[])[]): Scatter {
  const logs = levels.map((blocks) => blocks.filter((value) => value > 0).map(Math.log));
  const freedom = logs.reduce((sum, values) => sum + Math.max(0, values.length - 1), 0);
  if (freedom === 0) return unknownScatter;
  const squares = logs.reduce((sum, values) => {
    const centre = mean(values);
    return sum + values.reduce((inner, value) => inner + (value - centre) ** 2, 0);
  }, 0);
  return { scatter: Math.sqrt(squares / freedom), freedom };
}

function interval(
  blocks: readonly number[],
  { scatter, freedom }: Scatter,
): CapacityLevel['throughput'] {
  if (!blocks.every((value) => value > 0)) {
    return { mean: mean(blocks), low: Math.min(...blocks), high: Math.max(...blocks) };
  }
  const centre = mean(blocks.map(Math.log));
  const half = (studentQuantile(freedom) * scatter) / Math.sqrt(blocks.length);
  return { mean: Math.exp(centre), low: Math.exp(centre - half), high: Math.exp(centre + half) };
}

function cpuOf(results: readonly LoadResult[]): number | null {
  const seen = results.flatMap(({ server }) => (server ? [server.cpuMean] : []));
  return seen.length > 0 ? mean(seen) : null;
}
/** The blocks at each number of connections, in the order in which they ran. */

export type Measured = Map<number, LoadResult[]>;
