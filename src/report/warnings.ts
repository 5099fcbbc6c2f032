import { time } from '../format/units.js';
import type { LoadResult } from '../load/result.js';

/** Lists the warnings of a result, except CLIENT-BOUND, which reports show separately. */
export function listWarnings({ warnings, interrupted, durationMs }: LoadResult): string[] {
  const messages = warnings
    .filter((warning) => warning.id !== 'client-bound')
    .map((warning) => warning.message);
  return interrupted ? [`Stopped early, after ${time(durationMs)}.`, ...messages] : messages;
}
