import type { LoadResult } from '../result.js';
import { BUSY_HOOKS, FEW_FILES, MIN_BUSY } from './client-bound.js';

/** The verdict if the generator was the limit. */
export const clientBound = {
  title: 'CLIENT-BOUND',
  meaning: 'The generator was the limit: these numbers describe it, not the server.',
};

/** Advises on a client-bound run by the cause that was measured: more threads help only if the generator was busy. */
export function adviseOnClientBound({
  busy,
  stalled,
  starved,
  reasons,
}: Pick<LoadResult['generator'], 'busy' | 'stalled' | 'starved' | 'reasons'>): string {
  // In a merged result the generator's name stands before a reason.
  if (reasons.some((reason) => reason.includes(FEW_FILES))) {
    return 'Raise the limit (ulimit -n), or use fewer connections (-c).';
  }
  if (reasons.some((reason) => reason.includes(BUSY_HOOKS))) {
    return 'Do less in hooks (before, after): saves and checks run without JavaScript; or use a lower load.';
  }
  if (busy >= MIN_BUSY) return 'Use more threads (-t) and cores, or a lower load.';
  if (stalled)
    return 'Repeat the run without stopping or suspending it, on a machine that has time for it.';
  if (starved !== null && starved > 0) {
    return 'Another process took its core: reserve a core for it (taskset), or use another machine.';
  }
  return 'Use a lower load, or a machine that does nothing else.';
}
