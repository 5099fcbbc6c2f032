// What the limits predict of experiments with the calls of a service: they have to tell a saturated dependency, a pool and a
// lock apart.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contradicts, findPrediction } from '#internal/explain/experiments/agreement.js';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';
import {
  findSkippedExperiments,
  rankExperiments,
} from '#internal/explain/experiments/selection.js';
import {
  chooseExchangeDelay,
  predictAbsorbedExchanges,
  predictHeldExchanges,
  predictSlowedByExchanges,
} from '#internal/explain/hypotheses/outbound/exchange-delay.js';
import { checkBegun, checkEffect } from '#internal/explain/target/probe-effect.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

const DATABASE = 'tcp://127.0.0.1:5432';
const SETTING = {
  ...{ hasProbe: true, isNativeStack: false, canRestart: true, canAddLoad: true },
  ...{ canChangeDependencies: true, socketPath: null },
};

/**
 * A service under 20 requests at a time that make `perRequest` exchanges with a database: of `aloneMs` each for a single
 * request that takes `otherMs` beside them, over `connections`, of which `answering` wait for a response.
 */
function asking(metrics, what) {
  const { throughput, aloneMs, connections, answering, perRequest = 1, otherMs = 0.5 } = what;
  const [call] = metrics.base.inside.outbound;
  const one = { ...call, origin: DATABASE, maxSockets: null, waiting: 0 };
  const nowMs = (answering * 1000) / (throughput * perRequest);
  const requestMs = aloneMs * perRequest + otherMs;
  const inside = (rate, waiting, ms) => ({
    ...metrics.base.inside,
    finished: rate,
    outbound: [
      { ...one, rate: rate * perRequest, answering: waiting, answerMs: ms, answerP50Ms: ms },
    ],
  });
  metrics.base.inside = inside(throughput, answering, what.medianMs ?? nowMs);
  const alone = 1000 / requestMs;
  metrics.single.inside = inside(alone, (aloneMs * perRequest) / requestMs, aloneMs);
  metrics.single.throughput = alone;
  const group = { sockets: connections, min: connections, max: connections, unread: 0, unsent: 0 };
  metrics.sockets = { ...metrics.sockets, outbound: [{ peer: '127.0.0.1:5432', ...group }] };
  Object.assign(metrics, { throughput, inFlight: 20, maxConcurrency: 20 });
  Object.assign(metrics, { unloadedLatencyMs: requestMs, responseMs: 20_000 / throughput });
  return metrics;
}

const SATURATED = { throughput: 110, aloneMs: 27, connections: 20, answering: 20 };
const POOLED = { throughput: 166, aloneMs: 30, connections: 5, answering: 5 };

describe('dependency-delay', () => {
  const predicted = (limit, what) =>
    evaluate(limit, (metrics) => void asking(metrics, what)).hypothesis?.predictions[
      'dependency-delay'
    ];

  test('the queue of a saturated dependency hides the delay, held connections do not', () => {
    const saturated = predicted('saturated-dependency', SATURATED);
    assert.ok(saturated.low > 0.8 && saturated.high < 1.2, JSON.stringify(saturated));
    const pooled = predicted('outbound-pool', POOLED);
    assert.ok(pooled.high < 0.8 && pooled.low > 0.4, JSON.stringify(pooled));
    assert.ok(pooled.high < saturated.low);
  });

  test('is chosen from the time of an exchange, and as S / (S + d) of what is held', () => {
    const metrics = asking(structuredClone(buildHealthyMetrics()), POOLED);
    const { ms, origin } = chooseExchangeDelay(metrics);
    assert.deepEqual([ms, origin], [19, DATABASE]);
    const { low, high } = predictHeldExchanges(metrics, 30, 1)['dependency-delay'];
    const expected = 30 / (30 + 19);
    assert.ok(low < expected && expected < high && high < 1.15 * expected);
    const slowed = predictSlowedByExchanges({ ...metrics, responseMs: 30 })['dependency-delay'];
    assert.ok(slowed.low < expected && expected < slowed.high);
    // Of ten in sequence all may be made while it is held, or one.
    const ten = asking(structuredClone(buildHealthyMetrics()), {
      ...POOLED,
      perRequest: 10,
      throughput: 16.6,
    });
    const some = predictHeldExchanges(ten, 300, 1)['dependency-delay'];
    assert.ok(some.low < 300 / (300 + 190) && some.high > 300 / (300 + 19));
  });

  test('few connections do not hide a delay that is longer than their queue', () => {
    const few = asking(structuredClone(buildHealthyMetrics()), {
      ...SATURATED,
      connections: 5,
      answering: 5,
    });
    const many = asking(structuredClone(buildHealthyMetrics()), SATURATED);
    const low = (metrics) => predictAbsorbedExchanges(metrics)['dependency-delay'].low;
    assert.ok(low(few) < low(many), `${low(few)}, ${low(many)}`);
  });

  test('is not made of calls by HTTP, of few calls, or of an unknown time', () => {
    assert.equal(chooseExchangeDelay(buildHealthyMetrics()), null);
    const seldom = asking(structuredClone(buildHealthyMetrics()), { ...POOLED, perRequest: 0.3 });
    assert.equal(chooseExchangeDelay(seldom), null);
    const unknown = asking(structuredClone(buildHealthyMetrics()), POOLED);
    unknown.single.inside.outbound = [];
    assert.equal(chooseExchangeDelay(unknown), null);
  });

  test('a lock that is held until a later exchange is slowed by one of them at least', () => {
    const locked = {
      ...{ throughput: 180, aloneMs: 0.5, otherMs: 4 },
      ...{ connections: 32, answering: 19, perRequest: 3 },
    };
    const held = predicted('serialized', locked);
    assert.ok(held.high < 0.9, JSON.stringify(held));
    const saturated = predicted('saturated-dependency', locked);
    assert.ok(saturated.low > 0.85 && saturated.high >= 1, JSON.stringify(saturated));
    // A single exchange waits for the lock and has it: the delay is before.
    assert.ok(predicted('serialized', { ...locked, perRequest: 1, otherMs: 5 }).high > 1);
  });

  test('a lock is known where the exchanges are all of a single request, too', () => {
    // Four of five exchanges do not wait.
    const locked = {
      ...{ throughput: 160, aloneMs: 1.1, medianMs: 1.2 },
      ...{ connections: 20, answering: 18, perRequest: 5 },
    };
    assert.ok(predicted('serialized', locked).high < 0.9);
  });

  test('a lock around the calls is slowed by all of them, a rate limit perhaps not at all', () => {
    const around = { throughput: 95, aloneMs: 10, connections: 1, answering: 0.95 };
    assert.ok(predicted('serialized', around).high < 0.8);
    assert.ok(predicted('serialized', { ...around, aloneMs: 5, otherMs: 5.4 }).high > 1);
  });
});

describe('pool-x2', () => {
  const of = (limit, what) =>
    evaluate(limit, (metrics) => void asking(metrics, what)).hypothesis.predictions;

  test('tells a pool from a saturated dependency, by throughput and by the time of an exchange', () => {
    const [pooled, saturated] = [
      of('outbound-pool', POOLED),
      of('saturated-dependency', SATURATED),
    ];
    assert.ok(pooled['pool-x2'].low > saturated['pool-x2'].high);
    const name = 'dependency-time-pool-x2';
    assert.ok(saturated[name].low > pooled[name].high);
  });

  test('the requests in flight bound its gain', () => {
    const pooled = of('outbound-pool', {
      ...POOLED,
      connections: 13,
      answering: 13,
      throughput: 430,
    });
    assert.ok(pooled['pool-x2'].low < 1.2, JSON.stringify(pooled['pool-x2']));
  });

  test('has no result if no pool was raised, with the reason', () => {
    const command = /** @type {any} */ ({ name: 'databasePools', options: {} });
    const check = (...answers) => checkBegun(command, answers);
    const raised = [{ driver: 'pg', from: 5, to: 10 }];
    check({ raised, refused: [] }, { raised: [], refused: ['full'] });
    assert.throws(() => check({ raised: [], refused: ['the pool of pg: full'] }), {
      message: 'the pool of pg: full',
    });
    assert.throws(() => check({ raised: [], refused: [] }), /no pool of a known driver/);
  });
});

describe('outbound-from-memory', () => {
  const calling = (limit, change = (_metrics) => {}) =>
    evaluate(limit, (metrics) => {
      Object.assign(metrics, { throughput: 90, inFlight: 20, maxConcurrency: 20 });
      Object.assign(metrics, { unloadedLatencyMs: 22, responseMs: 222 });
      const [call] = metrics.base.inside.outbound;
      const now = { ...call, rate: 90, answering: 19.6, answerMs: 218, answerP50Ms: 218 };
      const alone = { ...call, rate: 45, answering: 0.95, answerMs: 21, answerP50Ms: 21 };
      metrics.base.inside = { ...metrics.base.inside, outbound: [now] };
      metrics.single.inside = { ...metrics.single.inside, outbound: [alone] };
      metrics.single.throughput = 45;
      change(metrics);
    }).hypothesis?.predictions['outbound-from-memory'];

  test('a saturated dependency predicts the rest of the time, as far as the loop permits', () => {
    const { low, high } = calling('saturated-dependency');
    assert.ok(low > 2 && high > low, `${low} to ${high}`);
    const bounded = calling('saturated-dependency', ({ base }) => {
      // The loop is nearly half busy at 90 requests per second.
      base.outside.processes[0].main.run = 0.45;
      base.throughput = 90;
    });
    assert.ok(bounded.low < 2, JSON.stringify(bounded));
  });

  test('a queue that is held during the calls is held for as much less', () => {
    const held = calling('serialized', (metrics) => {
      const [call] = metrics.base.inside.outbound;
      const one = { ...call, rate: 55, answering: 0.85, answerMs: 15.5, answerP50Ms: 15.5 };
      metrics.base.inside.outbound = [one];
      metrics.single.inside.outbound = [one];
      metrics.single.throughput = 55;
      Object.assign(metrics, { throughput: 55, unloadedLatencyMs: 18, responseMs: 363 });
    });
    assert.ok(held.low > 1.5 && held.low < 18.2 / (18.2 - 15.5), JSON.stringify(held));
  });

  test('other limits predict nothing of it unless calls are made meanwhile', () => {
    const unchanged = /** @type {any} */ ({ unlisted: 'unchanged', predictions: {} });
    assert.deepEqual(findPrediction(unchanged, 'outbound-from-memory'), { low: 1, high: 1 });
    const measured = { ratio: 5, low: 4.5, high: 5.5 };
    const result = /** @type {any} */ ({
      ...{ name: 'outbound-from-memory', measured, otherwise: 1 },
    });
    assert.ok(contradicts(result, { low: 1, high: 1 }, 0.05));
  });

  test('has no result unless most calls were answered', () => {
    const check = (answered, passed) =>
      checkEffect(
        { name: 'answerFromMemory', options: { origin: null } },
        [{ answered, passed }],
        /** @type {any} */ ({}),
      );
    check(80, 20);
    assert.throws(() => check(20, 80), /^Error: only 20 of 100 calls were the same/);
    assert.throws(() => check(0, 0), /no call could be answered/);
  });
});

describe('permission', () => {
  /** @type {import('#internal/explain/experiment-names.js').ExperimentName[]} */
  const NAMES = ['pool-x2', 'outbound-from-memory', 'dependency-delay'];

  test('is needed, and the report says for what', () => {
    const metrics = asking(structuredClone(buildHealthyMetrics()), POOLED);
    const { hypothesis } = evaluate('outbound-pool', (it) => void asking(it, POOLED));
    const ranked = (setting) =>
      rankExperiments(metrics, [hypothesis], { ...SETTING, ...setting }).map(
        ({ experiment }) => experiment.name,
      );
    assert.ok(ranked({}).includes('pool-x2'));
    assert.ok(ranked({}).includes('dependency-delay'));
    for (const setting of [
      { canChangeDependencies: false },
      { canRestart: false },
      { hasProbe: false },
    ])
      for (const name of NAMES) assert.ok(!ranked(setting).includes(name), name);
    const skipped = findSkippedExperiments(metrics, [hypothesis], {
      ...SETTING,
      canChangeDependencies: false,
    });
    assert.ok(
      skipped.includes(
        'database pool x2: it changes calls to other services (--allow-dependency-experiments permits it)',
      ),
      skipped.join('\n'),
    );
  });

  test('each change is undone by the same command', () => {
    const metrics = asking(structuredClone(buildHealthyMetrics()), POOLED);
    for (const name of NAMES) {
      const { on, off } = EXPERIMENTS.find((one) => one.name === name).change(metrics, {}).probe;
      assert.equal(on.name, off.name);
      if (name !== 'outbound-from-memory') assert.notDeepEqual(on.options, off.options);
    }
  });
});
