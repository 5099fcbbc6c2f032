import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../dist/explain/verdict.js';

const CLOSED = { model: 'closed' };
const NOISE = 0.03;

function suspect(limit, weight, predictions, within) {
  const otherwise = within || limit === 'event-loop-cpu' ? 'unknown' : 'unchanged';
  return { limit, weight, predictions, otherwise, ...(within && { within }) };
}

function experiment(name, ratio, spread = 0.03) {
  const measured = { ratio, low: ratio * (1 - spread), high: ratio * (1 + spread), pairs: 4 };
  return {
    name,
    metric: 'throughput',
    change: '',
    predicted: {},
    otherwise: 1,
    measured,
    excludes: [],
  };
}

const doubled = { 'connections x2': { low: 1.8, high: 2.1 } };
const same = { 'connections x2': { low: 0.9, high: 1.1 } };

test('a predicted change that is measured and that no rival predicted confirms', () => {
  const few = suspect('too-few-connections', 0.9, doubled);
  const queue = suspect('serialized', 0.7, same);
  const found = decide(CLOSED, [few, queue], [experiment('connections x2', 1.98)], NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, few);
  assert.deepEqual(
    found.excluded.map(({ limit }) => limit),
    ['serialized'],
  );
});

test('what is measured against the strongest suspect leaves the other, unconfirmed where it predicted no change', () => {
  const few = suspect('too-few-connections', 0.9, doubled);
  const queue = suspect('serialized', 0.7, same);
  const found = decide(CLOSED, [few, queue], [experiment('connections x2', 1.01)], NOISE);
  assert.equal(found.status, 'likely');
  assert.equal(found.chosen, queue);
});

test('an interval that holds no change confirms nothing', () => {
  const few = suspect('too-few-connections', 0.9, doubled);
  const found = decide(CLOSED, [few], [experiment('connections x2', 1.6, 0.5)], NOISE);
  assert.equal(found.status, 'likely');
});

test('a rival of the same weight that nothing excludes keeps the verdict from being confirmed, and is named', () => {
  const few = suspect('too-few-connections', 0.9, doubled);
  const slow = suspect('slow-dependency', 0.93, doubled);
  const found = decide(CLOSED, [slow, few], [experiment('connections x2', 1.95)], NOISE);
  assert.equal(found.status, 'likely');
  assert.equal(found.chosen, slow);
  assert.deepEqual(found.also, [few]);
});

test('without an experiment the strongest suspect is likely at most', () => {
  const found = decide(CLOSED, [suspect('errors', 1, {})], [], NOISE);
  assert.equal(found.status, 'likely');
});

test('the cause of a busy loop is named, and the busy loop beside it', () => {
  const loop = suspect('event-loop-cpu', 1, { 'cpu injection': { low: 0.6, high: 0.7 } });
  const gain = { 'output muted': { low: 1.3, high: 1.7 } };
  const logging = suspect('logging', 0.8, { ...loop.predictions, ...gain }, 'event-loop-cpu');
  const runs = [experiment('cpu injection', 0.65), experiment('output muted', 1.5)];
  const found = decide(CLOSED, [loop, logging], runs, NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, logging);
  assert.deepEqual(found.also, [loop]);
});

test('a cause that its own experiment contradicts leaves the busy loop', () => {
  const loop = suspect('event-loop-cpu', 1, { 'cpu injection': { low: 0.6, high: 0.7 } });
  const gain = { 'output muted': { low: 1.3, high: 1.7 } };
  const logging = suspect('logging', 0.8, { ...loop.predictions, ...gain }, 'event-loop-cpu');
  const runs = [experiment('cpu injection', 0.65), experiment('output muted', 1.01)];
  const found = decide(CLOSED, [loop, logging], runs, NOISE);
  assert.equal(found.status, 'confirmed');
  assert.equal(found.chosen, loop);
});

test('an experiment on one part of a busy loop does not speak against its other parts', () => {
  const gc = suspect('gc-young', 0.9, {}, 'event-loop-cpu');
  const found = decide(CLOSED, [gc], [experiment('output muted', 1.4)], NOISE);
  assert.equal(found.chosen, gc);
});

test('suspects that are all contradicted leave nothing to be told', () => {
  const few = suspect('too-few-connections', 0.9, doubled);
  const queue = suspect('serialized', 0.7, same);
  const found = decide(CLOSED, [few, queue], [experiment('connections x2', 1.4)], NOISE);
  assert.equal(found.status, 'cannot-tell');
  assert.equal(found.chosen, null);
  assert.equal(found.excluded.length, 2);
});

test('that a loop is busy does not show what keeps it busy', () => {
  const injection = { 'cpu injection': { low: 0.6, high: 0.7 } };
  const idle = suspect('idle-work', 0.9, injection, 'event-loop-cpu');
  const found = decide(CLOSED, [idle], [experiment('cpu injection', 0.65)], NOISE);
  assert.equal(found.status, 'likely');
});

test('weak suspects are no verdict', () => {
  const found = decide(CLOSED, [suspect('single-core', 0.3, {})], [], NOISE);
  assert.equal(found.status, 'cannot-tell');
});

function open(warnings) {
  return {
    model: 'open',
    base: { load: { requests: { sent: 100 }, warnings: warnings.map((id) => ({ id })) } },
  };
}

test('a rate that is borne has no limit, unless something spoils the responses', () => {
  const busy = suspect('event-loop-cpu', 0.9, {});
  assert.equal(decide(open([]), [busy], [], NOISE).status, 'no-limit');
  const blocked = suspect('event-loop-blocked', 0.9, {});
  assert.equal(decide(open([]), [busy, blocked], [], NOISE).chosen, blocked);
  assert.equal(decide(open(['rate-not-reached']), [busy], [], NOISE).chosen, busy);
});
