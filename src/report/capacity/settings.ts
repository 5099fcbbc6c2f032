import type { CapacityResult } from '../../capacity/result.js';
import { duration, plural } from '../../format/units.js';
import { describeConnections, describeTargets } from '../plan.js';
import { chooseWords } from './words.js';

/** Describes the settings in one sentence. */
export function describeSettings(result: CapacityResult): string {
  const { plan, search, sweep, interrupted } = result;
  const { place } = chooseWords(sweep ?? {});
  const parts = [
    search ? `capacity for ${search.objective.join(' and ')}` : `capacity over ${place}s`,
    plural(plan.threads, 'thread'),
    interrupted ? `interrupted after ${formatElapsed(result)}` : formatElapsed(result),
    ...describeConnections(plan),
    describeTargets(plan),
  ];
  return parts.join(', ');
}

/** Formats the elapsed time, to the second. */
export function formatElapsed({ durationMs }: CapacityResult): string {
  return duration(1000 * Math.max(1, Math.round(durationMs / 1000)));
}
