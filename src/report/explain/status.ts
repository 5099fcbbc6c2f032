import type { ExplainStatus } from '../../explain/result.js';

/** The word and meaning of each status of a verdict. */
export const STATUS: Record<ExplainStatus, { word: string; meaning: string }> = {
  confirmed: {
    word: 'CONFIRMED',
    meaning:
      'an experiment had the result that this limit predicts, and contradicts every other limit',
  },
  likely: {
    word: 'LIKELY',
    meaning:
      'the evidence points to this limit and nothing contradicts it, but no experiment confirmed it',
  },
  'cannot-tell': {
    word: 'CANNOT TELL',
    meaning: 'the observations do not determine the limit',
  },
  'no-limit': {
    word: 'NO LIMIT',
    meaning: 'the service keeps up with this load',
  },
};
