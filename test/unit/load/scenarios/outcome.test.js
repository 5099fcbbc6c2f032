// What a result has of scenarios: their figures, names of checks, warnings, exit codes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exitCode } from '#internal/cli/exit.js';
import { IterationRate } from '#internal/load/engine/iteration-rate.js';
import { findClientBoundReasons } from '#internal/load/outcome/client-bound.js';
import { adviseOnClientBound } from '#internal/load/outcome/client-bound-words.js';
import { buildScenarioFigures } from '#internal/load/outcome/scenarios/figures.js';
import { findWarnings } from '#internal/load/outcome/warnings.js';
import { Secrets } from '#internal/masking/secrets.js';
import { fixture } from '../../../fixtures/report/results.js';

const recorded = fixture('scenarios');
const CIRCUMSTANCES = {
  ...{ refusedAddresses: [], serverEnded: null, otherPorts: [], unreachedTargets: [] },
  ...{ redirections: new Map(), files: null, extraAuthoritiesError: null },
};

/** The outcome of the engine with these scenarios, as recorded. */
function outcomeOf(scenarios) {
  const converted = scenarios.map(({ durationMs, activeMs, histograms, ...counts }) => ({
    counts,
    duration: toTimes(durationMs, histograms.duration, histograms.durationCensored),
    active: toTimes(activeMs, histograms.active, histograms.activeCensored),
  }));
  return {
    iterations: converted[0],
    scenarios: converted,
    steps: [
      {
        failures: [
          { reason: 'check', count: 3, example: 'status 409 in: {"password":"abcdefgh"}' },
        ],
        checks: [{ passed: 7, failed: 3, example: 'status 409 in: {"password":"abcdefgh"}' }],
        saves: [{ passed: 6, failed: 1, example: 'no JSON' }],
      },
      { failures: [], checks: [], saves: [] },
    ],
    trace: [],
  };
}

function toTimes(ms, histogram, censored) {
  return { ms: { ...ms, known: 1, supported: 0.99 }, histogram, censored };
}

const PLAN = {
  users: 5,
  ownConnections: true,
  scenarios: [
    {
      name: 'checkout',
      weight: 4,
      steps: [
        {
          name: 'buy',
          checks: ['status 201'],
          saves: [{ variable: 'order', from: 'json /id', optional: false }],
        },
      ],
    },
    { name: 'browse', weight: 1, steps: [{ name: 'list', checks: [], saves: [] }] },
  ],
};

function figuresOf(scenarios) {
  const timing = { durationMs: 2000, secrets: new Secrets() };
  return buildScenarioFigures(outcomeOf(scenarios), PLAN, { hooks: null, metrics: {} }, timing);
}

describe('the figures of scenarios', () => {
  test('are those of the engine: of all iterations, and of each scenario by its name', () => {
    const { iterations, scenarios } = figuresOf(recorded.scenarios);
    const [checkout, browse] = scenarios;
    assert.deepEqual([checkout.name, browse.name], ['checkout', 'browse']);
    const { name, ...own } = checkout;
    assert.equal(own.rate, own.completed / 2);
    // The engine adds them up: here its sum is that of the first.
    assert.deepEqual(iterations, own);
  });

  test('have the steps by the names of the plan, without secrets', () => {
    const { steps, checks } = figuresOf(recorded.scenarios);
    assert.deepEqual(checks, { passed: 7, failed: 3 });
    assert.deepEqual(
      steps.map(({ scenario, name }) => [scenario, name]),
      [
        ['checkout', 'buy'],
        ['browse', 'list'],
      ],
    );
    const [{ failures, checks: own, saves }] = steps;
    assert.equal(own[0].check, 'status 201');
    assert.deepEqual(saves[0], {
      ...{
        variable: 'order',
        from: 'json /id',
        optional: false,
        found: 6,
        missing: 1,
        example: 'no JSON',
      },
    });
    for (const { example } of [failures[0], own[0]]) {
      assert.match(example, /^status 409 in: \{"password":"\*+"\}$/);
    }
  });
});

/** The recorded result, changed. */
function changed(change) {
  const result = fixture('scenarios');
  change(result);
  return result;
}

function messageOf(result, id) {
  return findWarnings(result, CIRCUMSTANCES).find((warning) => warning.id === id)?.message;
}

describe('no completed iteration', () => {
  const none = (failed, rest = {}) =>
    changed((result) => Object.assign(result.iterations, { completed: 0, failed, ...rest }));

  test('is said with the step that failed most, and what failed in it', () => {
    assert.match(
      messageOf(none(1220), 'no-iteration'),
      /^No iteration was completed: step 'buy' failed 53 times; check 'status 201' failed: status 409 in: .*\.$/,
    );
    const unsaved = none(1220);
    unsaved.steps = unsaved.steps.filter(({ name }) => name !== 'buy');
    assert.match(
      messageOf(unsaved, 'no-iteration'),
      /step 'list items' failed 11 times; nothing to save as 'first' from json \/items\/0\/id: nothing at/,
    );
    unsaved.steps[1].failures = [{ reason: 'transport', count: 5, example: 'no connection' }];
    assert.match(
      messageOf(unsaved, 'no-iteration'),
      /failed 5 times; no response: no connection\.$/,
    );
  });

  test('is said of a run that was too short', () => {
    assert.match(
      messageOf(none(0, { started: 20 }), 'no-iteration'),
      /20 iterations had not ended when the run ended after 3.00 s, the oldest after 88.7 ms. Run longer \(-d\)\.$/,
    );
    const unstarted = none(0, { started: 0, notStarted: 9 });
    assert.match(messageOf(unstarted, 'no-iteration'), /none began, as no user was free\.$/);
    assert.match(messageOf(none(0, { started: 0 }), 'no-iteration'), /none was due/);
  });

  test('is exit code 3, and failed checks are 0', () => {
    const gate = { strict: false, conditions: 0, failedConditions: 0 };
    assert.equal(exitCode(none(1220), gate), 3);
    assert.equal(exitCode(none(1220), { ...gate, conditions: 1, failedConditions: 1 }), 3);
    assert.equal(exitCode(recorded, gate), 0);
    assert.equal(exitCode(recorded, { ...gate, conditions: 1, failedConditions: 1 }), 99);
  });
});

describe('a rate of iterations', () => {
  const open = (iterations) =>
    changed((result) => {
      Object.assign(result.plan, { model: 'open', rate: 400, arrivals: 'constant' });
      Object.assign(result.iterations, iterations);
    });

  test('is compared with the iterations that began, not with requests', () => {
    assert.equal(messageOf(open({ started: 1190 }), 'rate-not-reached'), undefined);
    const message = messageOf(open({ started: 1000, notStarted: 200 }), 'rate-not-reached');
    assert.match(message, /planned 400\/s iterations, started 333\/s, completed 385\/s/);
  });

  test('is not reached by a service that falls behind', () => {
    const behind = { started: 1200, inProgress: 500 };
    assert.match(messageOf(open(behind), 'rate-not-reached'), /^The rate was not reached/);
  });

  test('says how many could not begin', () => {
    assert.match(
      messageOf(open({ notStarted: 200 }), 'not-started'),
      /^200 iterations due but not started: no user of 20 was free\./,
    );
  });
});

describe('hooks', () => {
  const boundBy = (busyMs) =>
    findClientBoundReasons(
      changed((result) => {
        Object.assign(result, { hooks: { calls: 1000, busyMs, waitMs: 1 } });
        Object.assign(result.generator, { busy: 0.1, starved: 0, latenessMs: null });
      }),
      recorded.plan,
    );

  test('are the limit where they keep their thread busy', () => {
    assert.deepEqual(boundBy(2500), []);
    const reasons = boundBy(2800);
    assert.match(
      reasons.join(),
      /^the scenario's hooks kept JavaScript's thread busy 93 % of the time \(1,000 calls of 2\.80 ms each\)$/,
    );
    const generator = { busy: 0.1, stalled: null, starved: 0, reasons };
    assert.match(adviseOnClientBound(generator), /^Do less in hooks \(before, after\)/);
  });
});

test('the rate of iterations is that of the last second', () => {
  const rate = new IterationRate();
  assert.equal(rate.add(0, 0), 0);
  assert.equal(rate.add(500, 50), 100);
  assert.equal(rate.add(1000, 100), 100);
  assert.equal(rate.add(1500, 100), 50);
  assert.equal(rate.add(2000, 100), 0);
  assert.equal(rate.add(2500, 400), 300);
});
