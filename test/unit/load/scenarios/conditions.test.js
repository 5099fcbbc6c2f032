// Conditions of --fail-on on iterations, checks and metrics of scenarios, by a recorded run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCondition } from '#internal/load/plan/condition.js';
import { checkConditionSubject } from '#internal/load/plan/condition-subject.js';
import { fixture } from '../../../fixtures/report/results.js';

/** 1,156 of 1,240 iterations completed, 64 failed; p95 79.5 ms, that of checkout 81.0 ms; 98 % of the checks passed. */
const result = fixture('scenarios');

/** @type {[string, string | RegExp | null][]} */
const FAILURES = [
  ['iterations>1000', null],
  ['iterations>=1157', 'it is 1,156'],
  ['iterations<1000', 'it is 1,156'],
  ['iterations.rate>300', null],
  ['iterations.rate>500', /^it is 38\d$/],
  ['iterations.failed<=64', null],
  ['iterations.failed<64', 'it is 64'],
  ['iterations.failed<6%', null],
  ['iterations.failed<1%', 'it is 5.2 %'],
  ['iterations.notStarted<1', null],
  ['iterations.notStarted<1%', null],
  ['iteration.p95<2s', null],
  ['iteration.p95<60ms', /^it is 79\.\d ms$/],
  ['active.p95<60ms', null],
  ['active.mean<10ms', /^it is 16\.\d ms$/],
  ['iteration.min<1s', null],
  ['checkout: iteration.p50<60ms', /^it is 6\d\.\d ms$/],
  ['browse: iteration.p50<60ms', null],
  ['browse: iterations>252', 'it is 252'],
  ['browse: iterations.failed<1%', null],
  ['checks>97%', null],
  ['checks>=99%', 'it is 98 %'],
  ['checkout: checks>99%', 'it is 98 %'],
  ['log in: checks>=100%', null],
  ['buy: checks>99%', 'it is 97 %'],
  // Nothing is checked there.
  ['browse: checks>99%', 'there is no sample'],
  ['metrics.orders>=900', null],
  ['metrics.orders>900', 'it is 900'],
  ['metrics.basket.count>=900', null],
  ['metrics.basket.p95<20', null],
  ['metrics.basket.p99.9<20', 'it is 22.5'],
  ['metrics.basket.mean > 20', 'it is 12.5'],
  ['metrics.Basket<1', 'there is no sample'],
  // As of any load.
  ['throughput>1000', null],
  ['buy: p99<1s', null],
];
for (const [text, failure] of FAILURES) {
  test(`${text}: ${failure ?? 'holds'}`, () => {
    const told = parseCondition(text, 'fail-on').failure(result);
    if (failure instanceof RegExp) assert.match(told, failure);
    else assert.equal(told, failure);
  });
}

/** @type {[string, RegExp][]} */
const REFUSED = [
  ['checks>0.99', /write 'checks>99%'$/],
  ['checks<99%', /^fail-on says what must hold: write 'checks>=99%'$/],
  ['checks>99', /must be a condition/],
  ['iteration.p95>2s', /^fail-on says what must hold: write 'iteration.p95<=2s'$/],
  ['iteration.p95<200', /write 'iteration.p95<200ms'$/],
  ['checkout: iterations.failed>1%', /write 'checkout: iterations.failed<=1%'$/],
  ['iterations = 100', /write 'iterations>=100'$/],
  ['metrics.basket<much', /compares it with a number: 'metrics.basket.p95<20'/],
  ['checkout: metrics.basket<1', /metrics of scenarios are of the whole run, not of 'checkout'/],
];
for (const [text, advice] of REFUSED) {
  test(`${text} is refused with the condition to write`, () => {
    assert.throws(() => parseCondition(text, 'fail-on'), {
      code: 'ERR_MILLRACE_USAGE',
      message: advice,
    });
  });
}

describe('a condition on what the load does not have is refused', () => {
  const named = { requests: ['log in', 'buy'], targets: [], scenarios: ['checkout'] };
  /** @type {[string, import('#internal/load/plan/condition-subject.js').ConditionNames, RegExp][]} */
  const unknown = [
    ['iterations>1', { ...named, scenarios: null }, /a load without a scenario has no iterations$/],
    ['checks>99%', { ...named, scenarios: null }, /a load without a scenario has no checks$/],
    ['metrics.a>1', { ...named, scenarios: null }, /a load without a scenario has no metrics$/],
    ['buy: iterations>1', named, /no scenario has the name 'buy'; the names are 'checkout'$/],
    ['chekout: checks>99%', named, /no scenario or request has the name 'chekout'; the names are/],
    ['checkout: p99<1s', named, /'checkout'; it is a scenario, .* the names are 'log in', 'buy'$/],
  ];
  for (const [text, names, message] of unknown) {
    test(text, () => {
      const condition = parseCondition(text, 'fail-on');
      assert.throws(() => checkConditionSubject(condition, names), { message });
    });
  }

  test('and one on what it has is not', () => {
    for (const text of ['checkout: checks>99%', 'buy: checks>99%', 'buy: p99<1s', 'iterations>1']) {
      checkConditionSubject(parseCondition(text, 'fail-on'), named);
    }
  });
});
