import { time } from '../format/units.js';
import type { LoadResult } from '../load/result.js';

/** What makes the measurement doubtful, without CLIENT-BOUND, which has a place of its own. */
export function listWarnings({ warnings, interrupted, durationMs }: LoadResult): string[] {
  const messages = warnings
    .filter((warning) => warning.id !== 'client-bound')
    .map((warning) => warning.message);
  return interrupted ? [`Stopped early, after ${time(durationMs)}.`, ...messages] : messages;
}
