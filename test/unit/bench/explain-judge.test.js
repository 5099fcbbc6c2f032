import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { cases, notMade } from '../../../bench/explain/cases.js';
import { evaluateTrial, isConfident, OUTCOMES } from '../../../bench/explain/judge.js';

const bench = { expected: ['gc-young'], partly: ['event-loop-cpu'], remedy: {} };
const explained = (limit, status, { alsoLimiting = [], low, high } = {}) => ({
  verdict: { limit, status, alsoLimiting },
  remedy: low === undefined ? null : { predictedThroughput: { low, high } },
});
const outcome = (...said) => evaluateTrial(bench, explained(...said)).outcome;

test('an expected limit is right, whether confirmed or likely', () => {
  assert.equal(outcome('gc-young', 'confirmed'), 'right');
  assert.equal(outcome('gc-young', 'likely'), 'right');
});

test('another limit is right if the expected one is listed too', () => {
  assert.equal(outcome('threadpool', 'confirmed', { alsoLimiting: ['gc-young'] }), 'also-right');
  assert.equal(outcome('threadpool', 'confirmed', { alsoLimiting: ['gc-old'] }), 'wrong-confirmed');
});

test('a limit that is less specific is not an error', () => {
  assert.equal(outcome('event-loop-cpu', 'confirmed'), 'partly');
});

test('a wrong verdict has the name of its status', () => {
  assert.equal(outcome('threadpool', 'confirmed'), 'wrong-confirmed');
  assert.equal(outcome('threadpool', 'likely'), 'wrong-likely');
  assert.equal(outcome(null, 'no-limit'), 'wrong-no-limit');
});

test('a verdict that cannot tell is neither right nor wrong, whatever it lists', () => {
  assert.equal(outcome(null, 'cannot-tell'), 'cannot-tell');
  assert.equal(outcome('gc-young', 'cannot-tell'), 'cannot-tell');
  assert.equal(outcome('threadpool', 'cannot-tell'), 'cannot-tell');
});

test('without an expected limit, no limit is right and any other is wrong', () => {
  const idle = { expected: ['no-limit'], partly: [] };
  assert.equal(evaluateTrial(idle, explained(null, 'no-limit')).outcome, 'right');
  assert.equal(evaluateTrial(idle, explained('event-loop-cpu', 'likely')).outcome, 'wrong-likely');
});

test('a host that takes a large part of the cores limits every service', () => {
  const said = explained('noisy-machine', 'likely');
  assert.equal(evaluateTrial(bench, said, { stolen: 0.2 }).outcome, 'right');
  assert.equal(evaluateTrial(bench, said, { stolen: 0.1 }).outcome, 'wrong-likely');
  assert.equal(
    evaluateTrial(bench, explained('threadpool', 'likely'), { stolen: 0.2 }).outcome,
    'wrong-likely',
  );
});

test('such a host makes no wrong verdict right', () => {
  const said = explained('threadpool', 'likely', { alsoLimiting: ['noisy-machine'] });
  assert.equal(evaluateTrial(bench, said, { stolen: 0.2 }).outcome, 'wrong-likely');
});

test('a missing explanation is a failure', () => {
  const { outcome, said, prediction } = evaluateTrial(bench, null, { measured: 100 });
  assert.deepEqual(
    { outcome, said, prediction },
    { outcome: 'failed', said: null, prediction: null },
  );
});

test('exactly the wrong verdicts can be confident', () => {
  assert.deepEqual(OUTCOMES.filter(isConfident), [
    'wrong-no-limit',
    'wrong-likely',
    'wrong-confirmed',
  ]);
});

test('the error of a prediction is that of the middle of its range', () => {
  const said = explained('gc-young', 'confirmed', { low: 80, high: 100 });
  const { prediction } = evaluateTrial(bench, said, { measured: 100 });
  assert.ok(Math.abs(prediction.error - 0.1) < 1e-12);
  assert.equal(prediction.within, true);
  assert.equal(evaluateTrial(bench, said, { measured: 101 }).prediction.within, false);
  assert.equal(evaluateTrial(bench, said, { measured: 79 }).prediction.within, false);
});

test('a speed-up of the machine is removed', () => {
  const said = explained('gc-young', 'confirmed', { low: 80, high: 100 });
  const { prediction } = evaluateTrial(bench, said, { measured: 180, drift: 1.8 });
  assert.deepEqual([prediction.measured, prediction.drift], [100, 1.8]);
  assert.ok(Math.abs(prediction.error - 0.1) < 1e-12 && prediction.within);
});

test('a prediction is compared only if the remedy removes the named limit', () => {
  const range = { low: 80, high: 100 };
  const both = {
    expected: ['single-core', 'event-loop-cpu'],
    partly: [],
    remedy: { of: ['single-core'] },
  };
  const prediction = (one, limit) =>
    evaluateTrial(one, explained(limit, 'confirmed', range), { measured: 90 }).prediction;
  assert.notEqual(prediction(both, 'single-core'), null);
  assert.equal(prediction(both, 'event-loop-cpu'), null);
  assert.equal(prediction(bench, 'event-loop-cpu'), null);
  assert.equal(
    evaluateTrial(bench, explained('gc-young', 'confirmed'), { measured: 90 }).prediction,
    null,
  );
  assert.equal(evaluateTrial(bench, explained('gc-young', 'confirmed', range)).prediction, null);
  assert.equal(
    evaluateTrial(bench, explained('gc-young', 'confirmed', range), { measured: 0 }).prediction,
    null,
  );
});

test('the cases are complete', async () => {
  const { LIMIT_IDS } = await import('#internal/explain/limit-ids.js');
  const ids = [...LIMIT_IDS, 'no-limit'];
  const names = cases.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, service, typescript, expected, partly, because, remedy } of cases) {
    const source = typescript ? `${service.replace('dist/', 'src/')}.ts` : `${service}.js`;
    const file = new URL(`../../../bench/explain/services/${source}`, import.meta.url);
    assert.ok(service === 'bare' || existsSync(file), `${name}: ${file}`);
    const used = [...expected, ...partly, ...(remedy?.of ?? [])];
    assert.deepEqual(
      used.filter((id) => !ids.includes(id)),
      [],
      name,
    );
    assert.deepEqual(
      expected.filter((id) => partly.includes(id)),
      [],
      name,
    );
    assert.ok(expected.length > 0 && because.length > 0, name);
  }
  const shown = new Set(cases.flatMap(({ expected }) => expected));
  const missing = ids.filter((id) => !shown.has(id) && !(id in notMade));
  assert.deepEqual(missing, []);
});
