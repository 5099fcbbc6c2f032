// Medians, intervals of medians, and the steady part of a run.

export function computeMedian(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Computes the quantile `q` of sorted values (nearest rank). */
export function computeQuantile(sorted, q) {
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

/**
 * Computes the median with an interval that does not depend on the distribution: from the k-th smallest
 * to the k-th largest value, with the largest k that still covers the true median with 95 % probability
 * (sign test). With fewer than six values it spans all of them, and `coverage` is its probability.
 */
export function computeMedianInterval(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let rank = 1;
  while (2 * (rank + 1) <= count && computeCoverage(count, rank + 1) >= 0.95) rank++;
  return {
    median: computeMedian(sorted),
    low: sorted[rank - 1],
    high: sorted[count - rank],
    coverage: computeCoverage(count, rank),
  };
}

/** Computes the probability that the true median lies between the k-th smallest and the k-th largest of n values. */
function computeCoverage(n, k) {
  let outside = 0;
  let term = 0.5 ** n;
  for (let i = 0; i < k; i++) {
    outside += term;
    term *= (n - i) / (i + 1);
  }
  return 1 - 2 * outside;
}

/**
 * Finds the steady part of a run from samples `{ ns, requests, serverCpuNs, clientCpuNs }` in order: the time
 * in which requests were served, without its first quarter and its last tenth. Null if nothing was served.
 * Both `...Busy` are in cores.
 */
export function findSteadyPart(samples) {
  const grows = (sample, index) => index > 0 && sample.requests > samples[index - 1].requests;
  const first = samples.findIndex(grows);
  const last = samples.findLastIndex(grows);
  if (first < 0) return null;
  const begin = samples[first - 1].ns;
  const span = samples[last].ns - begin;
  const from = samples.find((sample) => sample.ns >= begin + span * 0.25);
  const to = samples.findLast((sample) => sample.ns <= begin + span * 0.9);
  const seconds = (to.ns - from.ns) / 1e9;
  if (!(seconds > 0)) return null;
  const perSecond = (key) => (to[key] - from[key]) / seconds;
  const requestsPerSecond = perSecond('requests');
  return {
    seconds,
    requestsPerSecond,
    serverBusy: perSecond('serverCpuNs') / 1e9,
    clientBusy: perSecond('clientCpuNs') / 1e9,
    cpuUsPerRequest: perSecond('clientCpuNs') / 1e3 / requestsPerSecond,
  };
}
