import type { NativeDistribution, NativeTimes } from '../../../native/addon.js';
import {
  computeQuantileMs,
  type Durations,
  decodeDurations,
  estimateUncensored,
} from '../../../statistics/durations.js';
import { addHistograms } from '../../../statistics/hdr-histogram.js';

/** Samples that must lie above a percentile for it to be more than chance. */
const ENOUGH_ABOVE = 10;

/**
 * Adds up times of several scenarios, at least one. The figures are estimated from the sums of the histograms, as the engine
 * does it for each scenario.
 */
export function addTimes(parts: readonly NativeTimes[]): NativeTimes {
  const [first, ...others] = parts;
  if (first === undefined) throw new RangeError('there are no times');
  if (others.length === 0) return first;
  const histogram = addHistograms(parts.map((one) => one.histogram));
  const censored = addHistograms(parts.map((one) => one.censored));
  const ms = describeTimes(
    decodeDurations(histogram),
    decodeDurations(censored),
    parts.map((one) => one.ms),
  );
  return { ms, histogram, censored };
}

function describeTimes(
  all: Durations,
  censored: Durations,
  parts: readonly NativeDistribution[],
): NativeDistribution {
  const counts = { count: all.count, censored: censored.count };
  if (all.count === 0) return { ...counts, known: 0, supported: 0 };
  const times = estimateUncensored(all, censored);
  const quantile = (q: number) => computeQuantileMs(times, q) ?? 0;
  const mean = computeExpected(times, (ms) => ms);
  const mins = parts.flatMap(({ min }) => min ?? []);
  return {
    ...counts,
    ...(mins.length > 0 && { min: Math.min(...mins) }),
    mean,
    stdev: Math.sqrt(computeExpected(times, (ms) => (ms - mean) ** 2)),
    p50: quantile(0.5),
    p75: quantile(0.75),
    p90: quantile(0.9),
    p95: quantile(0.95),
    p99: quantile(0.99),
    p99_9: quantile(0.999),
    p99_99: quantile(0.9999),
    max: Math.max(...parts.flatMap(({ max }) => max ?? [])),
    known: 1 - (times.censoredTail?.count ?? 0) / times.count,
    supported: findSupported(all, times),
  };
}

/** Computes the mean of a function of the times; those of which only a bound is known count as that. */
function computeExpected(
  { count, values, censoredTail }: Durations,
  of: (ms: number) => number,
): number {
  const all = censoredTail ? [...values, censoredTail] : values;
  return all.reduce((sum, { ms, count: part }) => sum + of(ms) * part, 0) / count;
}

/** Finds the share up to which enough samples lie above a percentile. */
function findSupported(all: Durations, times: Durations): number {
  const ended = new Map(times.values.map(({ ms, count }) => [ms, count / times.count]));
  let [atRisk, reached, supported] = [all.count, 0, 0];
  for (const { ms, count } of all.values) {
    const part = ended.get(ms);
    if (part !== undefined) {
      // So many samples without a censored one would tell as much of the longer times.
      const worth = atRisk / (1 - reached);
      const enough = 1 - ENOUGH_ABOVE / worth;
      reached = Math.min(1, reached + part);
      supported = Math.max(supported, Math.min(enough, reached));
      if (enough < reached) return supported;
    }
    atRisk -= count;
  }
  return supported;
}
