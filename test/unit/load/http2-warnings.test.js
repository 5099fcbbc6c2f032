// Warnings of requests that wait for streams and for windows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  checkMaxConcurrentStreams,
  checkWindowWaits,
} from '#internal/load/outcome/http2-warnings.js';

const fixture = readFileSync(new URL('../../fixtures/report-closed.json', import.meta.url), 'utf8');

/** A run of 10,000 requests with a mean latency of 2 ms. */
function resultWith({ plan = {}, ...change }) {
  const result = JSON.parse(fixture);
  Object.assign(result.plan, { model: 'closed', pipelining: 10, ...plan });
  Object.assign(result.requests, { sent: 10_000, ok: 10_000 });
  result.latencyMs.mean = 2;
  return Object.assign(result, change);
}

/** A run with `-p 10` against a server that allows so many streams. */
const allowing = (maxConcurrentStreams, change = {}) => {
  const result = resultWith(change);
  Object.assign(result.connections, { maxConcurrentStreams });
  return result;
};

test('streams that wait are counted in words', () => {
  assert.match(checkMaxConcurrentStreams(allowing(9)), /and -p is 10: the other one waits, and/);
  assert.match(checkMaxConcurrentStreams(allowing(8)), /and -p is 10: the other 2 wait, and/);
  assert.equal(checkMaxConcurrentStreams(allowing(10)), null);
  assert.equal(checkMaxConcurrentStreams(allowing(null)), null);
});

test('of an open run streams are noted if arrivals have waited', () => {
  const open = (mean) => {
    const result = allowing(9, { plan: { model: 'open' } });
    result.serviceTimeMs.mean = mean;
    return checkMaxConcurrentStreams(result);
  };
  assert.equal(open(1.95), null);
  assert.match(open(1.8), /arrivals beyond that wait/);
});

test('waits for windows are a part of the mean of all requests', () => {
  const of = (requests) =>
    checkWindowWaits(resultWith({ windowWaits: { requests, totalMs: 5000 } }));
  assert.match(
    of(1000),
    /1,000 requests \(10 %\) waited .*, 5\.00 ms each on average, 500 µs of the mean latency of 2\.00 ms:/,
  );
  assert.equal(of(99), null);
});
