import type { CapacityResult } from '../../capacity/result.js';
import { duration, plural } from '../../format/units.js';
import { connectionMode, targets } from '../plan.js';

/** How the settings were understood, in one sentence. */
export function settings(result: CapacityResult): string {
  const { plan, search, interrupted } = result;
  const parts = [
    search ? `capacity for ${search.objective.join(' and ')}` : 'capacity over connections',
    plural(plan.threads, 'thread'),
    interrupted ? `interrupted after ${took(result)}` : took(result),
    ...connectionMode(plan),
    targets(plan),
  ];
  return parts.join(', ');
}

/** How long it took, to the second. */
export function took({ durationMs }: CapacityResult): string {
  return duration(1000 * Math.max(1, Math.round(durationMs / 1000)));
}
