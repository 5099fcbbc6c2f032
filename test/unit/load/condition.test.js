// Conditions of --fail-on on figures of which a bound is known only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseCondition } from '../../../dist/load/plan/condition.js';

const file = new URL('../../fixtures/report-tls-errors.json', import.meta.url);
/** Of its latency p99 is 34.7 ms, and from p99.9 on it is at least 503 ms. */
const result = JSON.parse(readFileSync(file, 'utf8'));

const rows = [
  ['p99<50ms', null],
  ['p99<30ms', 'it is 34.7 ms'],
  ['p99.9<600ms', 'it is at least 503 ms', 'that it stays below is not shown'],
  ['service.p99.9<=1m', 'it is at least 500 ms'],
  ['p99.9<50ms', 'it is at least 503 ms'],
  ['p99.9>400ms', null, 'what is at least more is more'],
  ['p99.9>600ms', 'it is at least 503 ms'],
  ['mean<1s', 'it is at least 8.31 ms', 'a restricted mean'],
  ['max<1s', 'it is at least 503 ms'],
  ['min<1s', null],
  ['connect.p99.9<1s', null],
];
for (const [text, failure, why = ''] of rows) {
  test(`${text}: ${failure ?? 'holds'}${why && `, ${why}`}`, () => {
    assert.equal(parseCondition(text, 'fail-on').failure(result), failure);
  });
}
