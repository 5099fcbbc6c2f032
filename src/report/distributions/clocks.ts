import { hasResponse, isAnswered } from '../../load/answered.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { decodeDurations, estimateUncensored } from '../../statistics/durations.js';
import { isSameDistribution } from './distribution.js';
import { listPercentilePoints, type PercentilePoints } from './percentiles.js';

/** The two distributions that a report shows first: of iterations where there are scenarios, otherwise of requests. */
export interface Clocks {
  noun: 'iteration' | 'request';
  /** What the times of `first` are called. */
  quantity: 'duration' | 'latency';
  first: Clock;
  /** `null` where it is the same. */
  second: Clock | null;
  /** How both are called where they are the same. */
  both: string;
  /** What the second one leaves out. */
  remark: string | null;
}

/** A distribution with its points for plots. */
export interface Clock {
  label: string;
  times: Distribution;
  points: PercentilePoints;
}

/** Selects the distributions of a result; a sentence where there is nothing to show. */
export function selectClocks(result: LoadResult): Clocks | string {
  const { latencyMs, serviceTimeMs, percentiles } = result;
  if (result.iterations) return selectIterations(result.iterations);
  if (latencyMs.count === 0) return 'No request was sent: there is no latency to show.';
  if (!hasResponse(result)) {
    // A warning tells of responses that did not end.
    const what = isAnswered(result) ? 'Responses began and none ended' : 'No response came';
    return `${what}: there is no latency to show.`;
  }
  const second = { label: 'service time', times: serviceTimeMs, points: percentiles.serviceTime };
  return {
    noun: 'request',
    quantity: 'latency',
    first: { label: 'latency', times: latencyMs, points: percentiles.latency },
    second: isSameDistribution(latencyMs, serviceTimeMs) ? null : second,
    both: 'latency = service time',
    remark: null,
  };
}

function selectIterations(iterations: NonNullable<LoadResult['iterations']>): Clocks | string {
  const { completed, durationMs, activeMs, histograms } = iterations;
  if (completed === 0) return 'No iteration was completed: there is no duration to show.';
  const toPoints = (all: string, censored: string) =>
    listPercentilePoints(estimateUncensored(decodeDurations(all), decodeDurations(censored)));
  const { duration, durationCensored, active, activeCensored } = histograms;
  const second = { label: 'active', times: activeMs, points: toPoints(active, activeCensored) };
  const isSame = isSameDistribution(durationMs, activeMs);
  return {
    noun: 'iteration',
    quantity: 'duration',
    first: {
      label: 'iteration',
      times: durationMs,
      points: toPoints(duration, durationCensored),
    },
    second: isSame ? null : second,
    both: 'iteration',
    remark: isSame ? null : 'active: the iteration without its pauses and hooks.',
  };
}
