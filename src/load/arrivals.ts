import type { LatencyHistograms } from '../statistics/durations.js';
import type { Distribution, LoadResult } from './result.js';

/** What a run's schedule and its rates count: the iterations of its scenarios, or its requests where it has none. */
export interface Arrivals {
  noun: 'iteration' | 'request';
  /** Begun: sent, where they are requests. */
  started: number;
  /** With a response of any status, or with all steps done. */
  completed: number;
  /** Those with neither. */
  failed: number;
  /** Begun, and not ended when the run ended. */
  inProgress: number;
}

type Run = Pick<LoadResult, 'requests'> & Partial<Pick<LoadResult, 'iterations'>>;

/** Reads the arrivals of a run; results of earlier versions have no iterations. */
export function readArrivals({ requests, iterations }: Run): Arrivals {
  if (iterations) {
    const { started, completed, failed, inProgress } = iterations;
    return { noun: 'iteration', started, completed, failed, inProgress };
  }
  const { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd } = requests;
  return {
    noun: 'request',
    started: sent,
    completed: ok + statusErrors,
    failed: transportErrors + timeouts,
    inProgress: inFlightAtEnd,
  };
}

/** Reads the completed arrivals per second of a run. */
export function readRate({ iterations = null, throughput }: LoadResult): number {
  return iterations?.rate ?? throughput.mean;
}

/** The times of a run's arrivals, and their histograms. */
export interface ArrivalTimes {
  ms: Distribution;
  histograms: LatencyHistograms;
}

/** Reads the times of a run's arrivals: latencies, or durations of iterations with their pauses. */
export function readArrivalTimes({
  iterations = null,
  latencyMs,
  histograms,
}: LoadResult): ArrivalTimes {
  if (iterations === null) return { ms: latencyMs, histograms };
  const { duration, durationCensored } = iterations.histograms;
  return {
    ms: iterations.durationMs,
    histograms: { latency: duration, latencyCensored: durationCensored },
  };
}

/** Reads the times that a server determines: latencies, or durations of iterations without pauses and hooks. */
export function readActiveTimes({
  iterations = null,
  latencyMs,
  histograms,
}: LoadResult): ArrivalTimes {
  if (iterations === null) return { ms: latencyMs, histograms };
  const { active, activeCensored } = iterations.histograms;
  return {
    ms: iterations.activeMs,
    histograms: { latency: active, latencyCensored: activeCensored },
  };
}
