import { plural, time } from '../format/units.js';
import type { LoadResult } from '../load/result.js';
import { nameGenerator } from '../load/segment.js';

/** Most generators that are named as stopped. */
const MAX_NAMED = 5;

/** Lists the warnings of a result, except CLIENT-BOUND, which reports show separately. */
export function listWarnings(result: LoadResult): string[] {
  const messages = result.warnings
    .filter((warning) => warning.id !== 'client-bound')
    .map((warning) => warning.message);
  return result.interrupted ? [...describeStop(result), ...messages] : messages;
}

/** Says when a run was stopped, or which generators of a merged one were. */
function describeStop({ generators = [], durationMs }: LoadResult): string[] {
  const stopped = generators.flatMap((generator, index) =>
    generator.interrupted
      ? [`${nameGenerator(generator, index)} after ${time(generator.durationMs)}`]
      : [],
  );
  if (stopped.length === 0) return [`Stopped early, after ${time(durationMs)}.`];
  const rest = stopped.length - MAX_NAMED;
  const more = rest > 0 ? `, and ${plural(rest, 'other')}` : '';
  return [`Stopped early: ${stopped.slice(0, MAX_NAMED).join(', ')}${more}.`];
}
