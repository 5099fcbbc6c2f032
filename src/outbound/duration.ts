import { hasDurationUnit, parseDuration } from '../units.js';

/**
 * Parses a duration with a unit, such as `500ms` or `1m30s`. Returns milliseconds: `NaN` if the text is not such a
 * duration, infinity if it is too long.
 */
export function parseDurationWithUnit(text: string): number {
  if (!hasDurationUnit(text)) return Number.NaN;
  try {
    return parseDuration(text, 'duration');
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
