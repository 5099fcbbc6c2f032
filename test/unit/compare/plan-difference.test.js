import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPlanDifference } from '#internal/compare/differences/plan-difference.js';
import { fixture } from '../../fixtures/report/results.js';

const plan = { expect: ['2xx', '3xx'], ...fixture('closed').plan };

test('plans do not differ by host, port and command, which a server chooses at its start', () => {
  const targets = plan.targets.map(({ url, ...rest }) => {
    const { pathname, search } = new URL(url);
    return { ...rest, url: `http://other:1${pathname}${search}` };
  });
  const other = { ...plan, targets, addresses: ['other:1'], command: ['node', 'x.js'] };
  assert.equal(findPlanDifference(plan, other), null);
});

test('the first setting that differs is named with both values', () => {
  const [target] = plan.targets;
  for (const [change, expected] of [
    [{ connections: 7 }, `connections is ${plan.connections} in A, 7 in B`],
    [{ rate: 100 }, 'rate is null in A, 100 in B'],
    [{ expect: ['2xx'] }, "expect is [ '2xx', '3xx' ] in A, [ '2xx' ] in B"],
    [{ targets: [target, target] }, '1 target in A, 2 targets in B'],
    [
      { targets: [{ ...target, method: 'PUT', url: 'http://h/p', bodyBytes: 3 }] },
      'in A, PUT /p with 3 bytes in B',
    ],
  ]) {
    const difference = findPlanDifference(plan, { ...plan, ...change });
    assert.ok(difference?.endsWith(expected), difference);
  }
});

test('a setting that an older version did not have is not compared', () => {
  const { expect: _, ...older } = plan;
  assert.equal(findPlanDifference(older, plan), null);
  assert.equal(findPlanDifference(plan, { ...plan, added: 1 }), null);
});
