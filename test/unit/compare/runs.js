/** Builds runs for comparisons from figures per pair. */

const UNKNOWN = {
  throughput: null,
  p50Ms: null,
  p99Ms: null,
  cpuPerRequestUs: null,
  memoryMb: null,
};

/** Counts of requests of which `failed` of `ended` failed. */
export function countRequests(ended = 1000, failed = 0) {
  return { ended, responses: ended, failed };
}

/** Builds a run of side `side`; `byName` maps names to figures, and to `requests` if they are not the default. */
export function buildRun(side, pair, figures, options = {}) {
  const { byName = {}, clientBound = false, requests = countRequests() } = options;
  return {
    side,
    pair,
    startedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 3000,
    figures: { ...UNKNOWN, ...figures },
    requests,
    byName: Object.entries(byName).map(([name, { requests = countRequests(), ...own }]) => ({
      name,
      figures: { ...UNKNOWN, ...own },
      requests,
    })),
    clientBound,
    histograms: { unit: 'ns', latency: '', latencyCensored: '' },
  };
}

/** Builds the runs of pairs of requests/s `[a, b]`, in the order A B B A. */
export function buildPairs(pairs, metric = 'throughput') {
  return pairs.flatMap(([a, b], pair) => {
    const runs = [buildRun('a', pair, { [metric]: a }), buildRun('b', pair, { [metric]: b })];
    return pair % 2 === 0 ? runs : runs.toReversed();
  });
}

/** Exchanges the two sides. */
export function exchangeSides(runs) {
  return runs.map((run) => ({ ...run, side: run.side === 'a' ? 'b' : 'a' }));
}
