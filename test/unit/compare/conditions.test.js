import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  checkConditionNames,
  evaluateRatioCondition,
  parseRatioCondition,
} from '#internal/compare/ratio-condition.js';

const parse = (text) => parseRatioCondition(text, '--fail-on');

describe('a condition on a ratio', () => {
  test('is read with its metric, its request name and its bound', () => {
    for (const [text, metric, name, comparison, bound] of [
      ['throughput ratio>=0.97', 'throughput', null, '>=', 0.97],
      ['p50 ratio <= 1.1', 'p50Ms', null, '<=', 1.1],
      ['P99 RATIO<1.1', 'p99Ms', null, '<=', 1.1],
      ['cpu ratio<=1.05', 'cpuPerRequestUs', null, '<=', 1.05],
      ['memory ratio>.5', 'memoryMb', null, '>=', 0.5],
      ['GET /users/:id: p99 ratio<=1.1', 'p99Ms', 'GET /users/:id', '<=', 1.1],
      ['a: b: p99 ratio<=1.1', 'p99Ms', 'a: b', '<=', 1.1],
    ]) {
      assert.deepEqual(parse(text), { text, metric, name, comparison, bound });
    }
  });

  test('that is none is refused with what one looks like', () => {
    for (const text of [
      'p99<50ms',
      'p98 ratio<=1',
      'throughput ratio=1',
      'constructor ratio>=1',
      '',
    ]) {
      assert.throws(() => parse(text), {
        code: 'ERR_MILLRACE_USAGE',
        message: /^--fail-on must be a condition on a ratio .*'throughput ratio>=0\.97'.*\(got '/,
      });
    }
  });

  test('fails only where the whole interval is beyond its bound', () => {
    const evaluate = (text, low, high) => {
      const ratio = { estimate: 1, low, high };
      return evaluateRatioCondition(parse(text), [{ metric: 'p99Ms', name: null, ratio }]).holds;
    };
    assert.equal(evaluate('p99 ratio<=1.1', 1.11, 1.3), false);
    assert.equal(evaluate('p99 ratio<=1.1', 1.09, 1.3), true);
    assert.equal(evaluate('p99 ratio<=1.1', 0.5, 0.6), true);
    assert.equal(evaluate('p99 ratio>=0.9', 0.7, 0.89), false);
    assert.equal(evaluate('p99 ratio>=0.9', 0.7, 0.91), true);
  });

  test('is undecided on a row with a doubt, whatever its interval is', () => {
    for (const [low, high] of [
      [0.5, 0.6],
      [1.2, 1.3],
    ]) {
      const ratio = { estimate: 1, low, high };
      const rows = [{ metric: 'p99Ms', name: null, ratio, doubt: 'it failed' }];
      const { holds, reason } = evaluateRatioCondition(parse('p99 ratio<=1.1'), rows);
      assert.deepEqual([holds, reason], [null, 'it failed']);
    }
  });

  test('on the only name is one on all requests', () => {
    const ratio = { estimate: 1, low: 0.9, high: 1.05 };
    const rows = [{ metric: 'p99Ms', name: null, ratio }];
    assert.equal(evaluateRatioCondition(parse('x: p99 ratio<=1.1'), rows).holds, true);
  });

  test('without an interval, or without its row, can not be judged', () => {
    const ratio = { estimate: 1.5, low: null, high: null };
    const rows = [{ metric: 'p99Ms', name: null, ratio }];
    const condition = 'p99 ratio<=1.1';
    assert.deepEqual(evaluateRatioCondition(parse(condition), rows), {
      condition,
      value: 1.5,
      holds: null,
      reason: 'there is no interval',
    });
    const named = [...rows, { metric: 'p50Ms', name: 'x', ratio }];
    assert.deepEqual(evaluateRatioCondition(parse(`x: ${condition}`), named), {
      condition: `x: ${condition}`,
      value: null,
      holds: null,
      reason: 'there is no ratio',
    });
  });

  test('on a name that no request has is refused with the names that there are', () => {
    const condition = parse('GET /b: p99 ratio<=1.1');
    assert.doesNotThrow(() => checkConditionNames([condition], ['GET /a', 'GET /b']));
    assert.throws(() => checkConditionNames([condition], ['GET /a', 'GET /c']), {
      code: 'ERR_MILLRACE_USAGE',
      message:
        "'GET /b: p99 ratio<=1.1': no request has the name 'GET /b'; the names are GET /a, GET /c",
    });
  });
});
