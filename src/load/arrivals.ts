import type { LoadResult } from './result.js';

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

type Run = Pick<LoadResult, 'requests' | 'durationMs'> & Partial<Pick<LoadResult, 'iterations'>>;

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

/** Computes the completed arrivals per second of a run. */
export function computeRate(run: Run): number {
  const { durationMs } = run;
  return durationMs > 0 ? (readArrivals(run).completed * 1000) / durationMs : 0;
}
