/** What is said, loudly, where the generator was the limit. */
export const clientBound = {
  title: 'CLIENT-BOUND',
  meaning: 'The generator was the limit: these numbers describe it, not the server.',
  advice: 'Give it a core of its own, more threads (-t) if it was busy, or a lower load.',
};
