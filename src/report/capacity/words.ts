import type { CapacitySearch, CapacitySweep } from '../../capacity/result.js';

/** How reports call what a capacity run counts. */
export interface CapacityWords {
  /** The unit of rates. */
  perSecond: 'req/s' | 'iterations/s';
  /** What a rate counts. */
  noun: 'request' | 'iteration';
  /** What each does one after the other. */
  place: 'connection' | 'user';
}

/** Chooses the words for a run of requests, or of iterations of scenarios. */
export function chooseWords({
  counted,
}: Pick<CapacitySweep | CapacitySearch, 'counted'>): CapacityWords {
  return counted === 'iterations'
    ? { perSecond: 'iterations/s', noun: 'iteration', place: 'user' }
    : { perSecond: 'req/s', noun: 'request', place: 'connection' };
}
