import type { Status } from '../../explain/result.js';

/** How sure a verdict is, as a word and as a sentence. */
export const STATUS: Record<Status, { word: string; meaning: string }> = {
  confirmed: {
    word: 'CONFIRMED',
    meaning: 'an experiment came out as this limit predicted, and against every rival',
  },
  likely: {
    word: 'LIKELY',
    meaning: 'the signs are there and nothing speaks against it, but no experiment settled it',
  },
  'cannot-tell': {
    word: 'CANNOT TELL',
    meaning: 'what was seen does not decide it',
  },
  'no-limit': {
    word: 'NO LIMIT',
    meaning: 'the service keeps up with this load',
  },
};
