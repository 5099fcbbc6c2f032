/** What a report says, loudly, where the generator was the limit. */
export const clientBound = {
  title: 'CLIENT-BOUND',
  meaning: 'The generator was the limit: these numbers describe it, not the server.',
  advice: 'Use more threads (-t), a lower load, or cores of its own.',
};
