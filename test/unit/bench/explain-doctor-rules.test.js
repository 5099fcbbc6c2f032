import assert from 'node:assert/strict';
import { test } from 'node:test';
import { category, diagnose } from '../../../bench/explain/doctor/rules.js';

const samples = (sample, count = 500) =>
  Array.from({ length: count }, (_, i) => ({
    tMs: i * 10,
    delayMs: 0,
    cpu: 1,
    utilization: 0.5,
    ...(typeof sample === 'function' ? sample(i) : sample),
  }));
const collections = (ms) => Array.from({ length: 50 }, (_, i) => ({ tMs: i * 100, ms }));

test('18 of the 32 combinations of issues are unknown', () => {
  const issues = ['memory', 'delay', 'utilization', 'cpu', 'handles'];
  const all = Array.from({ length: 32 }, (_, bits) =>
    category(Object.fromEntries(issues.map((issue, at) => [issue, Boolean(bits & (1 << at))]))),
  );
  assert.equal(all.filter((one) => one === 'unknown').length, 18);
});

test('a busy process without delays has no issue', () => {
  assert.equal(diagnose(samples({}), []), 'performance');
});

test('an idle CPU alone is diagnosed as input and output', () => {
  assert.equal(diagnose(samples({ cpu: 0.05, utilization: 0.05 }), []), 'io');
});

test('delays with a busy CPU are the event loop, and with an idle one unknown', () => {
  assert.equal(diagnose(samples({ delayMs: 12 }), []), 'event-loop');
  assert.equal(
    diagnose(
      samples((i) => ({ delayMs: i === 7 ? 100 : 0 })),
      [],
    ),
    'event-loop',
  );
  assert.equal(diagnose(samples({ utilization: 0.96 }), []), 'event-loop');
  assert.equal(diagnose(samples({ delayMs: 12, cpu: 0.05 }), []), 'unknown');
});

test('100 ms of garbage collection within a second are a memory issue', () => {
  assert.equal(diagnose(samples({}), collections(10.1)), 'gc');
  assert.equal(diagnose(samples({}), collections(9.9)), 'performance');
  assert.equal(diagnose(samples({ cpu: 0.05 }), collections(10.1)), 'unknown');
});

test('the lower of two distinct states of the CPU counts', () => {
  const compiled = samples((i) => ({ cpu: (i < 100 ? 1.6 : 0.5) + (i % 7) / 100 }));
  assert.equal(diagnose(compiled, []), 'io');
  const near = samples((i) => ({ cpu: i % 2 ? 1 : 0.85 + (i % 5) / 20 }));
  assert.equal(diagnose(near, []), 'performance');
});

test('too few samples are no data', () => {
  assert.equal(diagnose(samples({}, 3), []), 'unknown');
});
