import type { LoadResult } from '../load/result.js';
import {
  computeQuantileMs,
  computeTruncatedMeanMs,
  estimateLatencies,
  isQuantileKnown,
} from '../statistics/durations.js';
import { mean } from '../statistics/moments.js';
import { studentQuantile } from '../statistics/student.js';
import type { CapacityLevel } from './result.js';

/** Share of failed requests from which on a level says nothing about throughput. */
export const MAX_ERROR_SHARE = 0.05;

/** A percentile is told if at least this many samples lie beyond it. */
const MIN_SAMPLES_BEYOND = 10;

/** Assumed where no level was measured twice. */
const DEFAULT_SCATTER = { scatter: 0.1, degreesOfFreedom: 10 };

/** The levels, each with all its blocks together: those in which the generator was not the limit, if there are any. */
export function summarizeLevels(measured: BlocksByLevel): CapacityLevel[] {
  const levels = [...measured]
    .sort(([a], [b]) => a - b)
    .map(([connections, all]) => {
      const reliable = all.filter((result) => !result.generator.clientBound);
      const results = reliable.length > 0 ? reliable : all;
      const blocks = results.map(computeThroughput);
      return { connections, results, blocks, clientBound: reliable.length === 0 };
    });
  const pooled = poolScatter(levels.map(({ blocks }) => blocks));
  return levels.map(({ connections, results, blocks, clientBound }) => ({
    connections,
    blocks,
    throughput: computeInterval(blocks, pooled),
    latencyMs: summarizeLatency(results),
    errorShare: mean(results.map(computeErrorShare)),
    clientBound,
    serverCpu: computeMeanCpu(results),
  }));
}

/** Levels that tell of the server. */
export function selectUsable(levels: readonly CapacityLevel[]): CapacityLevel[] {
  return levels.filter((level) => !level.clientBound && level.errorShare <= MAX_ERROR_SHARE);
}

/**
 * Responses per second of a closed block with a warm-up. A request belongs to the warm-up if it was sent in it, and those in
 * flight at its end, a block's response time of them, are not among the completed. But each response makes the next request
 * due: as many were sent in the measurement as came in it.
 */
export function computeThroughput({ requests, durationMs }: LoadResult): number {
  const { sent, ok, statusErrors, transportErrors, timeouts } = requests;
  const ended = ok + statusErrors + transportErrors + timeouts;
  return ended === 0 ? 0 : (((sent * 1000) / durationMs) * (ok + statusErrors)) / ended;
}

/** Share of the requests that failed, were answered with an error, or had no connection. */
export function computeErrorShare({ requests }: LoadResult): number {
  const { ok, statusErrors, transportErrors, timeouts, notSent } = requests;
  const failed = statusErrors + transportErrors + timeouts + notSent.connectFailed;
  return ok + failed === 0 ? 0 : failed / (ok + failed);
}

/** Latency of blocks, with the percentiles that they have the samples for. */
export function summarizeLatency(results: readonly LoadResult[]): CapacityLevel['latencyMs'] {
  const times = estimateLatencies(results.map(({ histograms }) => histograms));
  const quantileIfKnown = (q: number) =>
    times.count * (1 - q) >= MIN_SAMPLES_BEYOND ? computeQuantileMs(times, q) : null;
  const mean = times.count > 0 ? computeTruncatedMeanMs(times, Number.POSITIVE_INFINITY) : null;
  const quantiles = { mean: 1, p50: 0.5, p99: 0.99 };
  const bounds = Object.entries(quantiles).filter(([, q]) => !isQuantileKnown(times, q));
  const atLeast = Object.fromEntries(bounds.map(([name]) => [name, true]));
  return {
    mean,
    p50: quantileIfKnown(0.5),
    p99: quantileIfKnown(0.99),
    ...(bounds.length > 0 && { atLeast }),
  };
}

interface Scatter {
  /** Standard deviation of the logarithm of a block's throughput. */
  scatter: number;
  degreesOfFreedom: number;
}

/** All levels scatter alike: three blocks alone would tell little. */
function poolScatter(levels: readonly (readonly number[])[]): Scatter {
  const logs = levels.map((blocks) => blocks.filter((value) => value > 0).map(Math.log));
  const degreesOfFreedom = logs.reduce((sum, values) => sum + Math.max(0, values.length - 1), 0);
  if (degreesOfFreedom === 0) return DEFAULT_SCATTER;
  const squares = logs.reduce((sum, values) => {
    const centre = mean(values);
    return sum + values.reduce((inner, value) => inner + (value - centre) ** 2, 0);
  }, 0);
  return { scatter: Math.sqrt(squares / degreesOfFreedom), degreesOfFreedom };
}

function computeInterval(
  blocks: readonly number[],
  { scatter, degreesOfFreedom }: Scatter,
): CapacityLevel['throughput'] {
  if (!blocks.every((value) => value > 0)) {
    return { mean: mean(blocks), low: Math.min(...blocks), high: Math.max(...blocks) };
  }
  const centre = mean(blocks.map(Math.log));
  const half = (studentQuantile(degreesOfFreedom) * scatter) / Math.sqrt(blocks.length);
  return { mean: Math.exp(centre), low: Math.exp(centre - half), high: Math.exp(centre + half) };
}

function computeMeanCpu(results: readonly LoadResult[]): number | null {
  const seen = results.flatMap(({ server }) => (server ? [server.cpuMean] : []));
  return seen.length > 0 ? mean(seen) : null;
}
/** The blocks at each number of connections, in the order in which they ran. */

export type BlocksByLevel = Map<number, LoadResult[]>;
