// Programs that the server calls on its machine: saturated, idle behind a lock, or busy with something else.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluate } from '../../../fixtures/explain/evaluation.js';

/** A database on the machine of the server: `run` is the time of its busiest thread on a core. */
const buildDatabase = ({ cores, run }) => ({
  peers: ['127.0.0.1:5432'],
  program: 'postgres',
  cores,
  queued: 2,
  busiestThread: { run, queued: 0 },
});

/**
 * Metrics of 50 requests that queue, while a program on the same machine computes for them. `answering` are the calls to
 * it in flight over 10 connections, `aloneCores` what it uses for one request at a time, 20 per second.
 */
function queueBehind(metrics, program, { idle = 0.8, answering = 9, aloneCores } = {}) {
  metrics.unloadedLatencyMs = 5;
  const { cores } = program;
  metrics.base.outside = { ...metrics.base.outside, dependencies: [buildDatabase(program)] };
  const alone = buildDatabase({ cores: aloneCores ?? cores / 50, run: 0.01 });
  metrics.single.outside = { ...metrics.single.outside, dependencies: [alone] };
  const cpu = { cores: 2, server: 0.2, self: 0.05, others: cores + 0.05, idle };
  metrics.machine.cpu = { ...metrics.machine.cpu, ...cpu, dependencies: cores };
  const [call] = metrics.base.inside.outbound;
  const outbound = [{ ...call, origin: 'tcp://localhost:5432', answering, maxSockets: null }];
  metrics.base.inside = { ...metrics.base.inside, outbound };
  const sockets = { sockets: 10, min: 10, max: 10, unread: 0, unsent: 0 };
  metrics.sockets = { ...metrics.sockets, outbound: [{ peer: '127.0.0.1:5432', ...sockets }] };
}

describe('a program that the server calls on its machine', () => {
  const oneThread = { cores: 0.97, run: 0.96 };
  const allCores = { cores: 1.7, run: 0.2 };
  const evaluateBehind = (limit, program, more, change = () => {}) =>
    evaluate(limit, (metrics) => {
      queueBehind(metrics, program, more);
      change(metrics);
    });
  const isSaturated = (...given) =>
    /no CPU time left/.test(
      evaluateBehind('saturated-dependency', ...given).hypothesis?.sentence ?? '',
    );

  test('is saturated if one of its threads is always busy', () => {
    const { hypothesis } = evaluateBehind('saturated-dependency', oneThread);
    assert.match(hypothesis.sentence, /postgres \(127.0.0.1:5432\) .* on a core 96 %/);
    assert.ok(hypothesis.isLocated);
    assert.ok(hypothesis.predictions['second-process'].high < 1.5);
  });

  test('is saturated if it uses the cores, of which none is idle', () => {
    const { hypothesis } = evaluateBehind('saturated-dependency', allCores, { idle: 0.02 });
    assert.match(hypothesis.sentence, /has no CPU time left: it uses 1.70 of 2 cores/);
    assert.ok(!isSaturated(allCores, { idle: 1 }));
    // It cannot use more cores than the server may, unless the server is bound to some.
    assert.ok(!isSaturated({ cores: 2.5, run: 0.2 }, { idle: 0.02 }));
  });

  test('is the limit though the loop is busy with waiting for a core', () => {
    const starve = (metrics) => {
      Object.assign(metrics.loop, { busy: 0.96, run: 0.4, queued: 0.55 });
    };
    assert.ok(isSaturated(allCores, { idle: 0.02 }, starve));
    const busy = evaluateBehind('event-loop-cpu', allCores, { idle: 0.02 }, starve);
    assert.match(busy.why, /waits for a core, as postgres/);
  });

  test('rules out a pool of connections and what admits one request at a time', () => {
    for (const limit of ['serialized', 'outbound-pool']) {
      const { why } = evaluateBehind(limit, oneThread, {}, ({ base }) => {
        base.inside.outbound[0].waiting = 40;
      });
      assert.match(why, /postgres .* a thread of it is on a core 96 %/, limit);
    }
  });

  test('is saturated with one connection that always waits for a response', () => {
    const isPipelined = (metrics) => {
      Object.assign(metrics.sockets.outbound[0], { sockets: 1, min: 1, max: 1 });
    };
    assert.ok(isSaturated(oneThread, { answering: 0.95 }, isPipelined));
    assert.ok(!isSaturated(oneThread, { answering: 0.2 }, isPipelined));
  });

  test('is not saturated by one of several busy threads, or if requests do not queue', () => {
    assert.ok(!isSaturated({ cores: 3, run: 0.96 }));
    const isAlone = (metrics) => Object.assign(metrics, { unloadedLatencyMs: metrics.responseMs });
    assert.ok(!isSaturated(oneThread, {}, isAlone));
  });

  test('is not the limit if it computes for something else, or requests do not wait for it', () => {
    // It is as busy for a single request at a time, of which there are 20 per second.
    assert.ok(!isSaturated(oneThread, { aloneCores: 0.97 }));
    assert.ok(!isSaturated(oneThread, { answering: 0.05 }));
    const other = { origin: 'tcp://10.0.0.7:5432', answering: 0, waiting: 40 };
    const calls = (metrics) => {
      const { outbound } = metrics.base.inside;
      outbound.push({ ...outbound[0], ...other });
    };
    assert.ok(!isSaturated(oneThread, {}, calls));
    const without = (metrics) => Object.assign(metrics.base, { inside: null });
    assert.ok(!isSaturated(oneThread, { aloneCores: 0.97 }, without));
  });
});

describe('programs without a visible connection', () => {
  /**
   * Metrics of requests that queue, 1000 per second, while other programs use both cores: `aloneCores` of them for one
   * request at a time, 20 per second, and `idleOthers` without load.
   */
  const evaluateBeside = (
    limit,
    { aloneCores = 1.6 / 50, idleOthers = 0.02, idle = 0.05, run = 0.2, waiting = 0, server = 0.2 },
  ) =>
    evaluate(limit, (metrics) => {
      Object.assign(metrics, { unloadedLatencyMs: 5, idleOthers });
      metrics.base.outside = { ...metrics.base.outside, dependencies: [] };
      const [call] = metrics.base.inside.outbound;
      metrics.base.inside = { ...metrics.base.inside, outbound: [{ ...call, waiting }] };
      const cpu = { ...metrics.machine.cpu, cores: 2, others: aloneCores, dependencies: 0 };
      metrics.single.outside = { ...metrics.single.outside, cpu };
      metrics.machine.cpu = { ...cpu, server, self: 0.05, others: 1.6, idle };
      metrics.machine.minIdle = idle;
      Object.assign(metrics.machine.loop, { run, queued: 0.6 });
      Object.assign(metrics.loop, { busy: Math.min(1, run + 0.6), run, queued: 0.6 });
    });
  const isAssumed = (given) =>
    evaluateBeside('saturated-dependency', given).hypothesis?.sentence.includes('are not seen');

  test('are a saturated dependency if they take the cores in proportion to the requests', () => {
    const { hypothesis } = evaluateBeside('saturated-dependency', {});
    assert.match(hypothesis.sentence, /are not seen .* uses 1.60 of 2 cores/);
    assert.match(evaluateBeside('noisy-machine', {}).why, /in proportion to the requests/);
    // It is inferred: no measurement of a thread or of calls supports it.
    assert.equal(hypothesis.isLocated, undefined);
    assert.doesNotMatch(evaluateBeside('outbound-pool', { waiting: 20 }).why ?? '', /not seen/);
  });

  test('are noise if they compute without load, or as much for few requests as for many', () => {
    for (const unrelated of [{ idleOthers: 1.5 }, { idleOthers: null }, { aloneCores: 1.6 }]) {
      assert.ok(!isAssumed(unrelated));
      assert.match(evaluateBeside('noisy-machine', unrelated).hypothesis.sentence, /1.60 of 2 c/);
    }
  });

  test('are not the limit while a core is idle, requests wait for a pool, or the server is bound to other cores', () => {
    assert.ok(isAssumed({}));
    assert.ok(!isAssumed({ idle: 0.25 }));
    assert.ok(!isAssumed({ waiting: 40 }));
    assert.ok(!isAssumed({ server: 1.5 }));
  });

  test('are named as noise in proportion to the requests where the loop is busy besides', () => {
    const { sentence } = evaluateBeside('noisy-machine', { run: 0.65, server: 0.3 }).hypothesis;
    assert.match(sentence, /1.60 of 2 cores, in proportion to the requests/);
  });
});

describe('a lock in a dependency', () => {
  /** Requests of `aloneMs` with calls of `callMs`, which take 28 ms under load. */
  const lock = (limit, aloneMs, cores = 0.1, callMs = 0.3) =>
    evaluate(limit, (metrics) => {
      const origin = 'tcp://127.0.0.1:5432';
      const [first] = metrics.base.inside.outbound;
      const call = { ...first, origin, rate: 540, answering: 15, answerMs: 28 };
      const dependencies = cores === null ? [] : [buildDatabase({ cores, run: 0.02 })];
      metrics.base.outside = { ...metrics.base.outside, dependencies };
      const single = {
        ...call,
        rate: 500,
        answering: 0.5 * callMs,
        answerMs: callMs,
        answerP50Ms: 0.25,
      };
      metrics.base.inside = {
        ...metrics.base.inside,
        outbound: [{ ...call, answerP50Ms: 0.9 }],
      };
      metrics.single.inside = { ...metrics.single.inside, outbound: [single] };
      Object.assign(metrics, { throughput: 180, unloadedLatencyMs: aloneMs });
      Object.assign(metrics, { inFlight: 20, maxConcurrency: 20, responseMs: 109 });
    });

  test('serializes the requests that keep it while they do other things', () => {
    const { hypothesis } = lock('serialized', 5.6);
    assert.match(hypothesis.sentence, /probably a lock at tcp:\/\/127.0.0.1:5432.* one request/);
    assert.match(hypothesis.remedy.change, /release the lock earlier/);
    assert.ok(hypothesis.isLocated);
    assert.match(lock('saturated-dependency', 5.6).why, /wait for what other requests hold/);
    // A database whose CPU time is not seen may be saturated as well, which is less likely.
    const unseen = lock('saturated-dependency', 5.6, null).hypothesis;
    assert.ok(unseen.weight < hypothesis.weight);
  });

  test('may be held while the dependency itself waits: it is seen to be idle', () => {
    const { sentence } = lock('serialized', 5.6, 0.1, 1.8).hypothesis;
    assert.match(sentence, /probably a lock at tcp/);
    for (const cores of [0.9, null]) {
      const busy = lock('serialized', 5.6, cores, 1.8).hypothesis?.sentence ?? '';
      assert.doesNotMatch(busy, /a lock at/);
      assert.ok(lock('saturated-dependency', 5.6, cores, 1.8).hypothesis);
    }
  });

  test('is not assumed where fewer than one request is served at a time: the dependency limits its rate', () => {
    assert.ok(lock('saturated-dependency', 0.6).hypothesis);
    assert.doesNotMatch(lock('serialized', 0.6).hypothesis?.sentence ?? '', /a lock at/);
  });
});
