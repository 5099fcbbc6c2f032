import type { LoadResult } from '../result.js';
import { MIN_BUSY } from './client-bound.js';

/** What is said, loudly, where the generator was the limit. */
export const clientBound = {
  title: 'CLIENT-BOUND',
  meaning: 'The generator was the limit: these numbers describe it, not the server.',
};

/** What to do about it: more threads help a busy generator alone. */
export function adviseOnClientBound({ busy }: Pick<LoadResult['generator'], 'busy'>): string {
  return busy >= MIN_BUSY
    ? 'Give it more threads (-t) and cores, or a lower load.'
    : 'Another process took its core: give it one of its own (taskset), or use another machine.';
}
