import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  computeMedian,
  computeMedianInterval,
  computeQuantile,
  findSteadyPart,
} from '../../../bench/harness/statistics.js';

test('the median is the middle value', () => {
  assert.equal(computeMedian([3, 1, 2]), 2);
  assert.equal(computeMedian([4, 1, 2, 3]), 2.5);
});

test('quantiles use the nearest rank', () => {
  const sorted = Array.from({ length: 100 }, (_, index) => index + 1);
  assert.equal(computeQuantile(sorted, 0.5), 50);
  assert.equal(computeQuantile(sorted, 0.99), 99);
  assert.equal(computeQuantile([7], 0.99), 7);
});

test('the interval of a median uses the ranks of the sign test', () => {
  const upTo = (count) => Array.from({ length: count }, (_, index) => index + 1);
  assert.deepEqual(computeMedianInterval(upTo(5)), {
    median: 3,
    low: 1,
    high: 5,
    coverage: 0.9375,
  });
  // Tables of the binomial distribution: n = 8 takes the least and the greatest, n = 9 the second ones.
  assert.deepEqual(
    [computeMedianInterval(upTo(8)).low, computeMedianInterval(upTo(8)).high],
    [1, 8],
  );
  assert.deepEqual(
    [computeMedianInterval(upTo(9)).low, computeMedianInterval(upTo(9)).high],
    [2, 8],
  );
  assert.deepEqual(
    [computeMedianInterval(upTo(20)).low, computeMedianInterval(upTo(20)).high],
    [6, 15],
  );
});

test('the steady part leaves out the start and end of a run', () => {
  const samples = [];
  let requests = 0;
  for (let tick = 0; tick <= 100; tick++) {
    const serving = tick >= 20 && tick < 80;
    const slow = tick < 30;
    requests += serving ? (slow ? 1 : 100) : 0;
    const work = { requests, serverCpuNs: requests * 1000, clientCpuNs: requests * 3000 };
    samples.push({ ns: tick * 50e6, ...work });
  }
  const { requestsPerSecond, serverBusy, clientBusy, cpuUsPerRequest } = findSteadyPart(samples);
  assert.equal(Math.round(requestsPerSecond), 2000);
  assert.equal(serverBusy.toFixed(6), '0.002000');
  assert.equal(clientBusy.toFixed(6), '0.006000');
  assert.equal(cpuUsPerRequest.toFixed(6), '3.000000');
  assert.equal(findSteadyPart(samples.slice(0, 10)), null);
});
