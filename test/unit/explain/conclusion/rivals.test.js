// A verdict is confirmed only if an experiment came out differently from what each rival predicts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findTellingExperiments } from '#internal/explain/conclusion/rivals.js';
import { decideVerdict } from '#internal/explain/conclusion/verdict.js';

const CLOSED = { model: 'closed' };
const NOISE = 0.03;
const LOOP = 'event-loop-cpu';

function hypothesis(limit, weight, predictions, more = {}) {
  return { limit, weight, predictions, ...more };
}

function experiment(name, ratio, { spread = 0.03, metric = 'throughput' } = {}) {
  const measured = { ratio, low: ratio * (1 - spread), high: ratio * (1 + spread), pairs: 4 };
  return { name, metric, change: '', predicted: {}, otherwise: 1, measured, excludes: [] };
}

const decide = (hypotheses, experiments, unchanged) =>
  decideVerdict(CLOSED, hypotheses, experiments, NOISE, unchanged);

describe('two causes of a busy loop', () => {
  const kept = { low: 1.2, high: 4 };
  const churn = hypothesis('connection-churn', 0.93, { 'keep-alive': kept }, { causeOf: LOOP });

  test('of which an experiment changes only one: it is confirmed', () => {
    const gc = hypothesis('gc-young', 0.7, {}, { causeOf: LOOP });
    const found = decide([churn, gc], [experiment('keep-alive', 2)]);
    assert.deepEqual([found.status, found.chosen, found.rivals], ['confirmed', churn, []]);
  });

  test('which predict the same of every experiment are both named, and neither is confirmed', () => {
    const accept = hypothesis('accept-rate', 0.9, { 'keep-alive': kept }, { causeOf: LOOP });
    const found = decide([churn, accept], [experiment('keep-alive', 2)]);
    assert.deepEqual([found.status, found.chosen, found.rivals], ['likely', churn, [accept]]);
  });

  test('of which the tested one takes a small part of the time are not the verdict', () => {
    const loop = hypothesis(LOOP, 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
    const slight = { ...churn, predictions: { 'keep-alive': { low: 1.06, high: 4 } } };
    const runs = (ratio) => [experiment('cpu-injection', 0.65), experiment('keep-alive', ratio)];
    const found = decide([loop, slight], runs(1.12));
    assert.deepEqual([found.status, found.chosen.limit], ['confirmed', LOOP]);
    assert.equal(decide([loop, slight], runs(2)).chosen.limit, 'connection-churn');
  });
});

test('memory that grows with the cost of a request is a symptom, and no rival', () => {
  const restart = { restart: { low: 0.1, high: 0.5 } };
  const ages = hypothesis('degrades-over-time', 0.98, restart);
  const grows = hypothesis('memory-growth', 0.9, {});
  const found = decide([ages, grows], [experiment('restart', 0.3)]);
  assert.deepEqual([found.status, found.chosen, found.also], ['confirmed', ages, [grows]]);
});

test('a busy loop is not confirmed as the limit while what may keep it busy was not tried', () => {
  const loop = hypothesis(LOOP, 1, { 'cpu-injection': { low: 0.6, high: 0.7 } });
  const tls = hypothesis('tls-handshake', 0.7, { 'tls-keep-alive': { low: 1.5, high: 4 } });
  const cause = { ...tls, causeOf: LOOP };
  const runs = [experiment('cpu-injection', 0.65)];
  const open = decide([loop, cause], runs);
  assert.deepEqual([open.status, open.chosen, open.rivals], ['likely', loop, [cause]]);
  const small = { ...cause, loopShare: 0.1 };
  assert.equal(decide([loop, small], runs).status, 'confirmed');
});

test('what would tell two hypotheses apart are the experiments of which they predict different results', () => {
  const a = hypothesis('threadpool', 1, {
    'connections-x2': { low: 0.9, high: 1.1 },
    'thread-pool-x4': { low: 1.5, high: 4 },
  });
  const b = hypothesis('serialized', 1, { 'connections-x2': { low: 0.9, high: 1.1 } });
  assert.deepEqual(findTellingExperiments(a, b), []);
  const queueing = { ...b, unlisted: 'unchanged' };
  assert.deepEqual(
    findTellingExperiments(a, queueing).map(({ name }) => name),
    ['thread-pool-x4'],
  );
});

test('what grows per request is named before the memory that it takes', () => {
  const memory = hypothesis('memory-growth', 0.97, {
    'memory-after-gc': { low: 0.6, high: 1.5 },
  });
  const grows = hypothesis('degrades-over-time', 0.8, { restart: { low: 0.1, high: 0.7 } });
  const rest = { ...experiment('memory-after-gc', 1, { metric: 'memory-growth' }), otherwise: 0 };
  const start = experiment('restart', 0.3, { metric: 'cpu-per-response' });
  const found = decide([memory, grows], [rest, start]);
  assert.deepEqual([found.chosen, found.also], [grows, [memory]]);
  assert.equal(decide([memory], [rest]).chosen, memory);
});

test('a logger that takes a good part of the loop is named before the memory that its lines take', () => {
  const memory = hypothesis('memory-growth', 0.97, {
    'memory-after-gc': { low: 0.6, high: 1.5 },
  });
  const logging = (loopShare) => ({ ...hypothesis('logging', 0.8, {}), loopShare });
  const rest = { ...experiment('memory-after-gc', 1, { metric: 'memory-growth' }), otherwise: 0 };
  assert.equal(decide([memory, logging(0.45)], [rest]).chosen.limit, 'logging');
  assert.equal(decide([memory, logging(0.15)], [rest]).chosen, memory);
  // A process whose heap was full has ended.
  const full = { ...memory, weight: 1 };
  assert.equal(decide([full, logging(0.45)], [rest]).chosen, full);
});

test('a larger effect than predicted of the own experiment excludes no limit, and confirms none', () => {
  const tls = hypothesis('tls-handshake', 0.96, { 'tls-keep-alive': { low: 1.03, high: 2.8 } });
  const accept = hypothesis('accept-rate', 0.9, { 'keep-alive': { low: 1.05, high: 100 } });
  const causes = [tls, accept].map((one) => ({ ...one, causeOf: LOOP }));
  const runs = [experiment('tls-keep-alive', 34), experiment('keep-alive', 34)];
  const found = decide(causes, runs);
  assert.deepEqual([found.status, found.chosen.limit], ['likely', 'tls-handshake']);
  assert.deepEqual(found.excluded, []);
  // An effect in the other direction does exclude it, and so does any that all causes of a busy loop predict.
  assert.equal(
    decide(causes, [experiment('tls-keep-alive', 0.8)]).excluded[0].limit,
    'tls-handshake',
  );
  const loop = hypothesis(LOOP, 1, { 'second-process': { low: 1.05, high: 2.2 } });
  assert.equal(decide([loop], [experiment('second-process', 5)]).excluded[0].limit, LOOP);
});

describe('unchanged blocks that differ by nearly as much as any experiment changes', () => {
  const same = { 'connections-x2': { low: 0.85, high: 1.15 } };
  const queue = hypothesis('serialized', 0.7, same, { unlisted: 'unchanged' });
  const noisy = [9500, 16_700, 9800, 16_000];
  const runs = [experiment('connections-x2', 1.05, { spread: 0.3 })];

  test('name no cause', () => {
    const found = decide([queue], runs, noisy);
    assert.deepEqual([found.status, found.chosen, found.also], ['cannot-tell', null, [queue]]);
    assert.deepEqual(found.hiddenBy, { lowest: 9500, highest: 16_700 });
    assert.equal(decide([queue], runs, [9500, 9800, 9600, 9700]).chosen, queue);
  });

  test('are put down to other programs where those take the cores', () => {
    const machine = hypothesis('noisy-machine', 0.6, {});
    const found = decide([queue, machine], runs, noisy);
    assert.deepEqual([found.status, found.chosen], ['likely', machine]);
  });

  test('do not hide an effect that is larger', () => {
    const few = hypothesis('too-few-connections', 0.9, {
      'connections-x2': { low: 1.8, high: 2.2 },
    });
    assert.equal(decide([few], [experiment('connections-x2', 2.1)], noisy).status, 'confirmed');
    assert.equal(
      decide([few], [experiment('connections-x2', 1.9, { spread: 0.1 })], [1, 2, 1]).status,
      'likely',
    );
  });
});

test('an experiment on a part of a cause leaves open how large the rest is', () => {
  const loop = hypothesis(LOOP, 1, { 'second-process': { low: 1.6, high: 2 } });
  const tls = hypothesis(
    'tls-handshake',
    0.96,
    { 'tls-keep-alive': { low: 1.2, high: 9 }, 'tls-resumption': { low: 1.02, high: 9 } },
    { causeOf: LOOP },
  );
  const second = experiment('second-process', 1.8);
  const alike = decide([loop, tls], [second, experiment('tls-resumption', 1.04)]);
  assert.deepEqual([alike.status, alike.chosen, alike.rivals], ['likely', loop, [tls]]);
  // Kept connections have no handshakes at all.
  const kept = decide([loop, tls], [second, experiment('tls-keep-alive', 1.1)]);
  assert.deepEqual([kept.status, kept.chosen, kept.rivals], ['confirmed', loop, []]);
  // A small effect that is certain supports a limit whose prediction begins near no change.
  const near = { ...tls, predictions: { 'tls-keep-alive': { low: 1.02, high: 99 } } };
  assert.equal(decide([loop, near], [second, experiment('tls-keep-alive', 19)]).chosen, near);
  const signed = decide([loop, tls], [second, experiment('tls-resumption', 3)]);
  assert.deepEqual([signed.status, signed.chosen], ['confirmed', tls]);
});

test('other programs on the machine are the limit, unless a change of the service gains more', () => {
  const cause = { causeOf: LOOP, loopShare: 0.5 };
  const files = hypothesis(
    'synchronous-writes',
    0.9,
    { 'file-writes-in-memory': { low: 1.1, high: 1000 } },
    cause,
  );
  const loop = hypothesis(LOOP, 1, {});
  const remedy = { predictedThroughput: { low: 1200, high: 1800 } };
  const noisy = hypothesis('noisy-machine', 0.85, {}, { remedy });
  const metrics = { ...CLOSED, throughput: 1000 };
  const found = (ratio) =>
    decideVerdict(
      metrics,
      [loop, files, noisy],
      [experiment('file-writes-in-memory', ratio)],
      NOISE,
    );
  assert.equal(found(1.5).chosen, noisy);
  const more = found(4.5);
  assert.deepEqual([more.chosen, more.status, more.rivals], [files, 'likely', [noisy]]);
});
