// The limit max-concurrent-streams: found where the server allows fewer streams than the load has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluate } from '../../../fixtures/explain/evaluation.js';

/** A load of HTTP/2 with so many streams per connection, on a server that allows `most`. */
function streams(pipelining, most, change = (_metrics) => null) {
  return (metrics) => {
    const { load } = metrics.base;
    Object.assign(load.plan, { httpVersion: '2', connections: 4, pipelining });
    load.connections = { ...load.connections, maxConcurrentStreams: most };
    Object.assign(metrics, {
      maxConcurrency: 16,
      responseMs: 20,
      unloadedLatencyMs: 20,
      throughput: 800,
    });
    Object.assign(metrics.loop, { busy: 0.1 });
    change(metrics);
  };
}

test('fewer streams than the load has are the limit, and more connections are predicted to help', () => {
  const { hypothesis } = evaluate('max-concurrent-streams', streams(20, 4));
  assert.match(hypothesis.sentence, /allows 4 streams per connection, the load has 20/);
  assert.match(hypothesis.remedy.change, /at least 20 streams .*, or 20 connections/);
  const { low, high } = hypothesis.remedy.predictedThroughput;
  assert.ok(low <= 4000 && high >= 4000, `${low} to ${high}`);
  assert.ok(hypothesis.predictions['connections-x2'].high >= 2);
});

test('then too few connections are not', () => {
  const { hypothesis, why } = evaluate('too-few-connections', streams(20, 4));
  assert.equal(hypothesis, undefined);
  assert.match(why, /allows only 4 streams/);
});

/** @type {[string, (metrics: any) => void, RegExp][]} */
const RULED_OUT = [
  [
    'with HTTP/1.1',
    streams(20, null, ({ base }) => (base.load.plan.httpVersion = '1.1')),
    /HTTP\/1\.1/,
  ],
  ['with as many streams as asked for', streams(20, 20), /as many streams/],
  ['without a limit', streams(20, null), /as many streams/],
  ['where the loop is busy', streams(20, 4, ({ loop }) => (loop.busy = 0.99)), /loop is 99/],
  ['where requests queue in the server', streams(20, 4, (it) => (it.responseMs = 50)), /queues/],
  ['with a rate', streams(20, 4, (it) => (it.model = 'open')), /rate/],
];
for (const [name, change, why] of RULED_OUT) {
  test(`it is ruled out ${name}`, () => {
    const evaluated = evaluate('max-concurrent-streams', (metrics) => void change(metrics));
    assert.equal(evaluated.hypothesis, undefined);
    assert.match(evaluated.why, why);
  });
}
