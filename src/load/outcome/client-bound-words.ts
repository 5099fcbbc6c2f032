import type { LoadResult } from '../result.js';
import { MIN_BUSY } from './client-bound.js';

/** The verdict if the generator was the limit. */
export const clientBound = {
  title: 'CLIENT-BOUND',
  meaning: 'The generator was the limit: these numbers describe it, not the server.',
};

/** Advises on a client-bound run: more threads help only if the generator was busy. */
export function adviseOnClientBound({ busy }: Pick<LoadResult['generator'], 'busy'>): string {
  return busy >= MIN_BUSY
    ? 'Use more threads (-t) and cores, or a lower load.'
    : 'Another process took its core: reserve a core for it (taskset), or use another machine.';
}
