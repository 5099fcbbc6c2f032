// Three shares of a rate measure what one run of that rate measures, by name, within the noise that two equal runs have.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { load, mergeResults } from 'millrace';
import { decodeDurations } from '#internal/statistics/durations.js';
import { listen } from '../fixtures/stack/listen.js';

/** Shares of values above which two samples of one distribution differ in 1 of 1000 cases (Kolmogorov and Smirnov). */
const KOLMOGOROV = 1.95;

/** Mean time of a response in ms, by path; the times are exponential. */
const MEANS = new Map([
  ['/quick', 5],
  ['/slow', 40],
]);

const server = createServer((request, response) => {
  const mean = MEANS.get(request.url) ?? 0;
  setTimeout(() => response.end('ok'), -mean * Math.log(1 - Math.random()));
});

function run(url, more = {}) {
  return load({
    targets: [...MEANS.keys()].map((path, index) => ({ url: url + path, weight: index + 1 })),
    ...{ rate: 300, arrivals: 'poisson', duration: '20s', seed: 9, ...more },
  });
}

/** Times of the requests with a name, shortest first, with the share of those that are not longer. */
function distributionOf(result, name) {
  const { histograms } = result.byName.find((named) => named.name === name);
  const { count, values } = decodeDurations(histograms.serviceTime);
  let seen = 0;
  const steps = values.map((value) => {
    seen += value.count;
    return [value.ms, seen / count];
  });
  return { count, steps };
}

/** The largest difference of two distributions, over the one that chance gives. */
function distance(one, other) {
  const shareAt = (steps, ms) => steps.findLast(([value]) => value <= ms)?.[1] ?? 0;
  const points = [...one.steps, ...other.steps].map(([ms]) => ms);
  const differences = points.map((ms) =>
    Math.abs(shareAt(one.steps, ms) - shareAt(other.steps, ms)),
  );
  const chance = KOLMOGOROV * Math.sqrt((one.count + other.count) / (one.count * other.count));
  return Math.max(...differences) / chance;
}

test('three shares give the distribution of one run', { timeout: 120_000 }, async (t) => {
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  const whole = await run(url);
  const again = await run(url);
  const startAt = Date.now() + 3000;
  const shares = await Promise.all(
    [1, 2, 3].map((index) => run(url, { segment: `${index}/3`, startAt })),
  );
  const merged = mergeResults(shares);
  assert.equal(merged.requests.sent, whole.requests.sent);
  for (const { name, requests } of whole.byName) {
    const [a, b, c] = [whole, again, merged].map((result) => distributionOf(result, name));
    assert.equal(c.count, requests.sent, 'the same requests have the name');
    t.diagnostic(
      `${name}: ${distance(a, b).toFixed(2)} equal runs, ${distance(a, c).toFixed(2)} shares`,
    );
    assert.ok(distance(a, c) < 1, `${name}: ${distance(a, c)}`);
    assert.ok(distance(a, b) < 1, `${name}, two equal runs: ${distance(a, b)}`);
  }
});
