// Conditions of --fail-on on figures of which a bound is known only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseCondition } from '#internal/load/plan/condition.js';

const file = new URL('../../fixtures/report-tls-errors.json', import.meta.url);
/** Of its latency p99 is 34.7 ms, and from p99.9 on it is at least 503 ms. */
const result = JSON.parse(readFileSync(file, 'utf8'));

const rows = [
  ['p99<50ms', null],
  ['p99<30ms', 'it is 34.7 ms'],
  ['p99.9<600ms', 'it is at least 503 ms', 'that it stays below is not shown'],
  ['service.p99.9<=1m', 'it is at least 500 ms'],
  ['p99.9<50ms', 'it is at least 503 ms'],
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

for (const [text, advice] of [
  // They read as what must not be, and would pass where it is.
  ['p95>200ms', /^fail-on says what must hold: write 'p95<=200ms'$/],
  ['service.p99>=1s', /^fail-on says what must hold: write 'service.p99<1s'$/],
  ['errors>1%', /^fail-on says what must hold: write 'errors<=1%'$/],
  ['timeouts > 0', /^fail-on says what must hold: write 'timeouts<=0'$/],
  // Other tools write them like this.
  ['p95<200', /^fail-on must be a condition \(got 'p95<200'\): write 'p95<200ms'$/],
  ['p(95)<200', /write 'p95<200ms'$/],
  ['http_req_failed<0.01', /write 'errors<1%'$/],
  ['avg > 1s', /write 'mean<=1s'$/],
  ['errors=0', /write 'errors<=0'$/],
  ['errors == 0', /write 'errors<=0'$/],
  ['error_rate<1%', /write 'errors<1%'$/],
  ['rps>100', /write 'throughput>100'$/],
  ['p95<soon', /must be a condition such as 'p99<50ms'/],
  [
    'users: p42<1s',
    /or, of one request name, 'list users: p99<50ms'; of scenarios .* \(got 'users: p42<1s'\)$/,
  ],
  [
    'users: p99 ratio<=1.1',
    /^fail-on: a ratio is a condition of millrace compare, or compare\(\) \(got /,
  ],
  ['p42<1s', /must be a condition such as/],
]) {
  test(`${text} is refused with the condition to write`, () => {
    assert.throws(() => parseCondition(text, 'fail-on'), {
      code: 'ERR_MILLRACE_USAGE',
      message: advice,
    });
  });
}

test('the throughput may have a minimum and a maximum', () => {
  assert.equal(parseCondition('throughput>1', 'fail-on').failure(result), null);
  assert.match(parseCondition('throughput<1', 'fail-on').failure(result), /^it is /);
});

const byName = [
  { ...result.byName[0], name: 'list users', throughput: 12 },
  { ...result.byName[0], name: 'a: b', latencyMs: { ...result.latencyMs, p99: 1 } },
];

for (const [text, failure] of [
  ['list users: p99<30ms', 'it is 34.7 ms'],
  ['a: b: p99<30ms', null],
  ['a: b:  service.p99 < 30ms', 'it is 32.3 ms'],
  ['list users: throughput>10', null],
  ['list users: throughput>20', 'it is 12'],
  ['list users: errors<0.001%', /^it is /],
]) {
  test(`of the requests with one name: ${text}`, () => {
    const told = parseCondition(text, 'fail-on').failure({ ...result, byName });
    if (failure instanceof RegExp) assert.match(told, failure);
    else assert.equal(told, failure);
  });
}

for (const [text, message] of [
  ['list users: p99', /^fail-on must be a condition such as .* \(got 'list users: p99'\)$/],
  ['list users:p99<20ms', /^fail-on must be a condition \(got .*\): write 'list users: p99<20ms'$/],
  ['list users: p99>20ms', /^fail-on says what must hold: write 'list users: p99<=20ms'$/],
  [
    'list users: connect.p99<20ms',
    /^fail-on: connections are of the whole run, not of 'list users'/,
  ],
]) {
  test(`a condition on a name is refused: ${text}`, () => {
    assert.throws(() => parseCondition(text, 'fail-on'), { message });
  });
}
