// Words for what allocates the objects that cause a limit, and for what keeps them.

import { bytes, share } from '../../format/units.js';
import { sumWeights } from '../flame-graph/paths.js';
import type { LimitId } from '../limit-ids.js';
import { FIND_ADDED } from '../limits/cpu/degrades-over-time.js';
import { FIND_LEAK } from '../limits/cpu/memory-growth.js';
import { LIMITS } from '../limits/limits.js';
import type { Allocations } from '../result.js';

/** Minimum share of the allocated bytes at which a function is named. */
const MIN_SHARE = 0.1;

/** Adds to a remedy the line that allocates most, or whose objects stay, where it is known. */
export function nameObjects(change: string, limit: LimitId, found: Allocations | null): string {
  const cause = LIMITS[limit].causedByObjects;
  if (!found || cause === undefined) return change;
  if (cause === 'kept') {
    const kept = describeKept(found);
    const unknown = change.includes(FIND_ADDED) ? FIND_ADDED : FIND_LEAK;
    if (kept !== null) return change.replace(unknown, `${kept}: remove what is no longer needed`);
    // What is allocated most is not what grows.
    if (unknown === FIND_ADDED) return change;
  }
  const allocated = describeAllocated(found);
  return allocated === null ? change : `${allocated}: ${change}`;
}

/** Describes the class that grew most. */
function describeKept({ growth }: Allocations): string | null {
  const [most] = growth ?? [];
  if (!most) return null;
  const { name, bytesPerRequest, retainedBy, allocatedAt } = most;
  const by = allocatedAt ? `, allocated by ${formatFunction(allocatedAt)},` : '';
  const holder = retainedBy.length > 0 ? `in ${retainedBy.join(' <- ')}` : 'in memory';
  return `${bytes(bytesPerRequest)} per request of ${name}${by} stay ${holder}`;
}

/** Describes the function of the service that allocates most. */
function describeAllocated({ graph, heaviest }: Allocations): string | null {
  const [most] = heaviest;
  const frame = most?.frames.at(-1);
  if (!most || !frame || most.share < MIN_SHARE) return null;
  const part = `${bytes(most.weight)} of the ${bytes(sumWeights(graph))} that a request allocates`;
  return `${formatFunction(frame)} and what it calls allocate ${part} (${share(most.share)})`;
}

/** Formats a function with its place. */
export function formatFunction({ name, place }: { name: string; place: string }): string {
  if (place === '') return name;
  return name === '(anonymous)' ? `the function at ${place}` : `${name} (${place})`;
}
