import { countArrivals } from '../plan/schedule.js';
import type { LoadResult } from '../result.js';

/** The share of the planned rate below which the rate counts as not reached. */
const MIN_RATE_REACHED = 0.95;

type Run = Pick<LoadResult, 'requests' | 'durationMs' | 'errors'>;
type Plan = Pick<LoadResult['plan'], 'rate' | 'stages' | 'requests' | 'arrivals'>;

/** Counts the arrivals that were planned for a run of this length. */
export function countPlanned(plan: Plan, durationMs: number): number {
  return Math.min(countArrivals(plan, durationMs), plan.requests ?? Number.POSITIVE_INFINITY);
}

/** Whether so many requests are fewer than planned, beyond chance. */
export function isBelowRate(plan: Plan, durationMs: number, requests: number): boolean {
  const due = countPlanned(plan, durationMs);
  // One arrival at the end may be early or late; the number of Poisson arrivals deviates by its square root.
  const chance = plan.arrivals === 'poisson' ? 3 * Math.sqrt(due) : 0;
  return requests < MIN_RATE_REACHED * due - chance - 1;
}

/**
 * Counts the requests that an open run sent, or tried to send: one that its server refused a connection for has been tried,
 * as servers restart. One that this process had no descriptor for has not, and where most were refused, none has: that is no
 * load at this rate.
 */
export function countTried({ requests, errors }: Pick<Run, 'requests' | 'errors'>): number {
  const refused = requests.notSent.connectFailed;
  const isShortOfFiles = errors.some(({ kind }) => kind === 'fd-limit');
  return requests.sent + (isShortOfFiles || refused > requests.sent ? 0 : refused);
}
