// Which conditions of --abort-on-fail end a run, by the progress that the engine reports.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AbortWatch } from '#internal/load/plan/abort-conditions.js';
import { parseCondition } from '#internal/load/plan/condition.js';

const CLOSED = {
  model: 'closed',
  requests: null,
  durationMs: 3000,
  rate: null,
  stages: [],
  arrivals: null,
  targets: ['a', 'b'].map((name) => ({ name, url: `http://h/${name}`, weight: null })),
  order: 'in-turn',
  threads: 1,
};
const MANY = Array.from({ length: 10 }, (_, index) => ({
  ...{ name: index === 0 ? 'b' : 'a', url: 'http://h/', weight: null },
}));
const OPEN = { ...CLOSED, model: 'open', rate: 100, arrivals: 'constant' };
const START = {
  ...{ phase: 'measure', elapsedMs: 100, sent: 50, connectFailed: 0, errors: 0, timeouts: 0 },
  ...{ inFlight: 2, throughput: 500, above: [0], names: [] },
};

const NOT_SENT = { overflow: 0, queuedAtEnd: 0, connectFailed: 0 };
const COUNTS = { statusErrors: 0, transportErrors: 0, timeouts: 0, notSent: NOT_SENT };
const CALM = { sent: 25, ...COUNTS, above: [0] };

function lost(condition, plan, snapshot) {
  const watch = new AbortWatch([parseCondition(condition, 'failOn')], plan, ['a', 'b']);
  return watch.findViolated({ ...START, ...snapshot }) !== null;
}

const LATE = { elapsedMs: 1000, sent: 500 };
const BY_NUMBER = { ...CLOSED, requests: 3000, durationMs: 60_000 };
const ENDLESS = { ...BY_NUMBER, durationMs: null };
const OPEN_BY_NUMBER = { ...OPEN, requests: 1000, durationMs: 60_000 };
const rows = [
  [
    'a condition on a name counts its requests',
    'b: errors<1',
    CLOSED,
    { names: [CALM, { ...CALM, statusErrors: 1 }] },
    true,
  ],
  [
    'a condition on a name leaves out those of others',
    'a: errors<1',
    CLOSED,
    { errors: 1, names: [CALM, { ...CALM, statusErrors: 1 }] },
    false,
  ],
  [
    'a condition on a name counts its requests without a connection',
    'b: errors<1',
    CLOSED,
    { names: [CALM, { ...CALM, notSent: { ...NOT_SENT, connectFailed: 1 } }] },
    true,
  ],
  [
    'a time of a name is lost by its own samples',
    'b: max<1s',
    CLOSED,
    { names: [CALM, { ...CALM, above: [1] }] },
    true,
  ],
  [
    'a time of a name holds whatever others take',
    'a: max<1s',
    CLOSED,
    { above: [1], names: [CALM, { ...CALM, above: [1] }] },
    false,
  ],
  [
    'of requests in turn a name gets its part',
    'b: errors<1%',
    { ...OPEN_BY_NUMBER, targets: MANY },
    { names: [CALM, { ...CALM, sent: 1, statusErrors: 3 }] },
    true,
  ],
  [
    'of requests at random a name gets its part, and more by chance',
    'b: errors<1%',
    { ...OPEN_BY_NUMBER, targets: MANY, order: 'weighted' },
    { names: [CALM, { ...CALM, sent: 1, statusErrors: 1 }] },
    false,
  ],
  [
    'a name of one of several servers may get all requests',
    'b: errors<1%',
    { ...OPEN_BY_NUMBER, targets: [...MANY.slice(0, 9), { ...MANY[9], url: 'http://i/' }] },
    { names: [CALM, { ...CALM, sent: 1, statusErrors: 3 }] },
    false,
  ],
  [
    'a name may still get all requests that are to come',
    'b: errors<1%',
    BY_NUMBER,
    { names: [CALM, { ...CALM, sent: 1, statusErrors: 1 }] },
    false,
  ],
  ['max<2s holds in the first second of a closed run', 'max<2s', CLOSED, {}, false],
  ['max<2s is lost by one sample above it', 'max<2s', CLOSED, { above: [1] }, true],
  [
    'max<2s is lost by one sample above it later on',
    'max<2s',
    CLOSED,
    { ...LATE, above: [1] },
    true,
  ],
  ['service.max<2s holds before the first request', 'service.max<2s', CLOSED, { sent: 0 }, false],
  ['p99<2s may hold in the first second', 'p99<2s', CLOSED, { above: [40] }, false],
  [
    'a number of requests ends the run early: its throughput counts',
    'throughput>50',
    BY_NUMBER,
    LATE,
    false,
  ],
  [
    'a number of requests and twice the rate do not reach it',
    'throughput>2k',
    BY_NUMBER,
    LATE,
    true,
  ],
  ['nor without a duration', 'throughput>2k', ENDLESS, LATE, true],
  ['without a duration it may be reached', 'throughput>700', ENDLESS, LATE, false],
  ['a throughput is not lost in the first second', 'throughput>1k', BY_NUMBER, {}, false],
  [
    'an open run with a number of requests may reach its rate',
    'throughput>=99',
    OPEN_BY_NUMBER,
    {},
    false,
  ],
  ['an open run does not exceed its rate', 'throughput>101', OPEN_BY_NUMBER, {}, true],
  ['an open run without one does not exceed its rate', 'throughput>150', OPEN, {}, true],
  [
    'the last requests are under way',
    'throughput>2k',
    BY_NUMBER,
    { ...LATE, sent: 2998, inFlight: 9 },
    false,
  ],
  [
    'nothing was completed, and nothing comes',
    'throughput>50',
    BY_NUMBER,
    { ...LATE, throughput: 0 },
    true,
  ],
];
for (const [name, condition, plan, snapshot, isViolated] of rows) {
  test(`${condition} ends the run or not: ${name}`, () =>
    assert.equal(lost(condition, plan, snapshot), isViolated));
}

describe('iterations of scenarios', () => {
  const request = { request: { request: 0, saves: [], checks: [], continues: false } };
  const steps = [request, { repeat: { count: 4, steps: [request] } }];
  /** Five requests in an iteration, at most. */
  /** @type {any} */
  const flows = { scenarios: [{ follow: 0, steps }] };
  const counts = { started: 50, completed: 40, failed: 2, inProgress: 0, notStarted: 0 };

  function lostOf(condition, plan, iterations, snapshot = {}) {
    const parsed = [parseCondition(condition, 'failOn')];
    const watch = new AbortWatch(parsed, plan, ['a', 'b'], flows);
    /** @type {any} */
    const now = { ...START, iterations: { ...counts, ...iterations }, ...snapshot };
    return watch.findViolated(now);
  }

  for (const [why, condition, plan, iterations, isLost] of [
    ['a number of failures is lost at once', 'iterations.failed<2', OPEN, {}, true],
    ['and holds until then', 'iterations.failed<3', OPEN, {}, false],
    // 300 iterations in all, and one more by its schedule.
    ['a share counts all that may come', 'iterations.failed<1%', OPEN, { failed: 3 }, false],
    ['a share is lost by more of these', 'iterations.failed<1%', OPEN, { failed: 4 }, true],
    ['a number may still be reached', 'iterations>290', OPEN, {}, false],
    ['a number that failures have put out of reach', 'iterations>299', OPEN, { failed: 3 }, true],
    ['those not started count', 'iterations.notStarted<1%', OPEN, { notStarted: 4 }, true],
    ['a rate that may be reached', 'iterations.rate>90', OPEN, {}, false],
    ['a rate that is out of reach', 'iterations.rate>100', OPEN, { failed: 5 }, true],
  ]) {
    test(`${why}: ${condition}`, () => {
      assert.equal(lostOf(condition, plan, iterations) !== null, isLost);
    });
  }

  test('have more requests to come than they are', () => {
    // 50 were sent. 251 iterations are to come and 30 in progress, of five requests each: 1 % of 1,455.
    const now = (errors) => ({ errors });
    assert.equal(lostOf('errors<1%', OPEN, { completed: 18 }, now(14)), null);
    assert.equal(lostOf('errors<1%', OPEN, { completed: 18 }, now(15)), 'errors<1%');
  });

  test('a condition that only the end tells of is known as such', () => {
    const isOfEndAlone = (text) => parseCondition(text, 'failOn').isOfEndAlone;
    for (const text of ['checks>99%', 'iteration.p95<1s', 'metrics.a>1', 'x: iterations>1']) {
      assert.equal(isOfEndAlone(text), true, text);
    }
    for (const text of ['iterations>1', 'iterations.failed<1%', 'p99<1s', 'mean<1s']) {
      assert.equal(isOfEndAlone(text), false, text);
    }
  });
});
