import { countArrivals } from '../plan/schedule.js';
import type { LoadResult } from '../result.js';

/** The share of the planned rate below which the rate counts as not reached. */
const MIN_RATE_REACHED = 0.95;

type Run = Pick<LoadResult, 'requests' | 'errors'> & Partial<Pick<LoadResult, 'iterations'>>;
type Plan = Pick<LoadResult['plan'], 'rate' | 'stages' | 'requests' | 'arrivals'>;

/** Counts the arrivals that were planned for a run of this length. */
export function countPlanned(plan: Plan, durationMs: number): number {
  return Math.min(countArrivals(plan, durationMs), plan.requests ?? Number.POSITIVE_INFINITY);
}

/** Whether so many arrivals are fewer than planned, beyond chance. */
export function isBelowRate(plan: Plan, durationMs: number, arrivals: number): boolean {
  const due = countPlanned(plan, durationMs);
  // One arrival at the end may be early or late; the number of Poisson arrivals deviates by its square root.
  const chance = plan.arrivals === 'poisson' ? 3 * Math.sqrt(due) : 0;
  return arrivals < MIN_RATE_REACHED * due - chance - 1;
}

/**
 * Counts the arrivals that an open run began. Of requests those that it tried to send: one that its server refused a
 * connection for has been tried, as servers restart. One that this process had no descriptor for has not, and where most were
 * refused, none has: that is no load at this rate.
 */
export function countTried({ requests, errors, iterations }: Run): number {
  if (iterations) return iterations.started;
  const refused = requests.notSent.connectFailed;
  const isShortOfFiles = errors.some(({ kind }) => kind === 'fd-limit');
  return requests.sent + (isShortOfFiles || refused > requests.sent ? 0 : refused);
}
