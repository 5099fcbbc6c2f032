import { readArrivals, readArrivalTimes } from '../load/arrivals.js';
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

/** Share of failed requests above which a level says nothing about throughput. */
export const MAX_ERROR_SHARE = 0.05;

/** Number of samples that must lie beyond a percentile for it to be reported. */
const MIN_SAMPLES_BEYOND = 10;

/** Scatter assumed if no level was measured twice. */
const DEFAULT_SCATTER = { scatter: 0.1, degreesOfFreedom: 10 };

/** Summarizes the blocks of each level. Blocks in which the generator was the limit count only if a level has no others. */
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
    errorShare: computeErrorShare(results),
    clientBound,
    serverCpu: computeMeanCpu(results),
  }));
}

/** Selects the levels that describe the server: not client-bound, and with few errors. */
export function selectUsable(levels: readonly CapacityLevel[]): CapacityLevel[] {
  return levels.filter((level) => !level.clientBound && level.errorShare <= MAX_ERROR_SHARE);
}

/**
 * Computes the responses, or with scenarios the completed iterations, per second of a closed block with a warm-up.
 *
 * A request belongs to the phase in which it was sent, so requests in flight at the end of the warm-up do not count as
 * completed. In the closed model each response triggers the next request: the number of requests sent in the measurement
 * equals the number of responses that arrived in it, so the number sent is used.
 */
export function computeThroughput(result: LoadResult): number {
  const { started, completed, failed } = readArrivals(result);
  const ended = completed + failed;
  return ended === 0 ? 0 : (((started * 1000) / result.durationMs) * completed) / ended;
}

/** Computes the share of requests that failed, had an error status, or had no connection; with scenarios of iterations. */
export function computeErrorShare(results: readonly LoadResult[]): number {
  const [good, bad] = results
    .map(countOutcomes)
    .reduce(([good, bad], [ok, failed]) => [good + ok, bad + failed], [0, 0]);
  return good + bad === 0 ? 0 : bad / (good + bad);
}

function countOutcomes({
  requests,
  iterations = null,
}: LoadResult): readonly [good: number, bad: number] {
  if (iterations !== null) return [iterations.completed, iterations.failed];
  const { ok, statusErrors, transportErrors, timeouts, notSent } = requests;
  return [ok, statusErrors + transportErrors + timeouts + notSent.connectFailed];
}

/** Computes mean, median and 99th percentile over blocks; a percentile is `null` if too few samples lie beyond it. */
export function summarizeLatency(results: readonly LoadResult[]): CapacityLevel['latencyMs'] {
  const times = estimateLatencies(results.map((result) => readArrivalTimes(result).histograms));
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

/** Pools the scatter of all levels, since the three blocks of one level are too few to estimate it. */
function poolScatter(levels: readonly (readonly number[])[]): Scatter {
  const logs = levels.map((blocks) => blocks.filter((value) => value > 0).map(Math.log));
  const degreesOfFreedom = logs.reduce((sum, values) => sum + Math.max(0, values.length - 1), 0);
  if (degreesOfFreedom === 0) return DEFAULT_SCATTER;
  const squares = logs.reduce((sum, values) => {
    const center = mean(values);
    return sum + values.reduce((inner, value) => inner + (value - center) ** 2, 0);
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
  const center = mean(blocks.map(Math.log));
  const half = (studentQuantile(degreesOfFreedom) * scatter) / Math.sqrt(blocks.length);
  return { mean: Math.exp(center), low: Math.exp(center - half), high: Math.exp(center + half) };
}

function computeMeanCpu(results: readonly LoadResult[]): number | null {
  const cpuMeans = results.flatMap(({ server }) => (server ? [server.cpuMean] : []));
  return cpuMeans.length > 0 ? mean(cpuMeans) : null;
}
/** The blocks of each number of connections, in the order in which they ran. */
export type BlocksByLevel = Map<number, LoadResult[]>;
