// Detectors of limits of outbound connections, and of what the service waits for behind them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluate } from '../../../fixtures/explain/evaluation.js';

/** A busy loop whose requests each open a connection. */
function opening(metrics, { origin = 'https://pay:443', opened = 1000, connecting } = {}) {
  Object.assign(metrics.loop, { busy: 1, run: 0.98, busyMs: 1, cpuMs: 1 });
  const [call] = metrics.base.inside.outbound;
  metrics.base.inside.outbound = [{ ...call, origin, opened }];
  if (connecting !== undefined) metrics.loopTime = { connecting, gc: 0, logging: 0 };
}

describe('connections for each call', () => {
  test('with TLS the limit is the handshakes, without TLS the connections', () => {
    const secure = evaluate('tls-handshake', (metrics) => opening(metrics, { connecting: 0.6 }));
    assert.match(secure.hypothesis.sentence, /takes 60 % of the loop's time/);
    assert.equal(secure.hypothesis.causeOf, 'event-loop-cpu');
    const plain = evaluate('connection-churn', (metrics) =>
      opening(metrics, { origin: 'http://stock:80', connecting: 0.3 }),
    );
    assert.match(plain.hypothesis.sentence, /each call opens its own; that takes 30 %/);
    // Inbound connections rule the limit out, which is not reported then.
    assert.equal(plain.why, undefined);
  });

  test('are no limit if connections are kept, take little time, or the loop is idle', () => {
    const { hypothesis } = evaluate('tls-handshake', (metrics) => opening(metrics, { opened: 10 }));
    assert.equal(hypothesis, undefined);
    const little = evaluate('tls-handshake', (metrics) => opening(metrics, { connecting: 0.05 }));
    assert.equal(little.hypothesis, undefined);
    const idle = evaluate('tls-handshake', (metrics) => {
      opening(metrics, { connecting: 0.6 });
      metrics.loop.busy = 0.3;
    });
    assert.equal(idle.hypothesis, undefined);
  });
});

describe('nagle-delayed-ack of outbound calls', () => {
  const asking = (metrics, { usesNagle = true, now = 44, alone = 44 }) => {
    const [call] = metrics.base.inside.outbound;
    const one = { ...call, origin: 'tcp://kv:6000', usesNagle, answering: 45 };
    metrics.base.inside.outbound = [{ ...one, answerP50Ms: now }];
    metrics.single.inside = { ...metrics.base.inside, outbound: [{ ...one, answerP50Ms: alone }] };
  };

  test('is the limit if calls take as long as the timer, under load and alone', () => {
    const { hypothesis } = evaluate('nagle-delayed-ack', (metrics) => asking(metrics, {}));
    assert.ok(hypothesis.predictions['outbound-nodelay'].low > 1.2);
    assert.match(
      hypothesis.remedy.change,
      /setNoDelay\(true\) on the connections to tcp:\/\/kv:6000/,
    );
  });

  test('is not the limit if calls take another time, queue, or no data is held back', () => {
    for (const other of [{ now: 60, alone: 60 }, { alone: 20 }, { usesNagle: false }]) {
      const { hypothesis } = evaluate('nagle-delayed-ack', (metrics) => asking(metrics, other));
      assert.equal(hypothesis, undefined, JSON.stringify(other));
    }
  });
});

describe('a dependency that all requests wait for', () => {
  const queueing = (metrics, answering) => {
    const [call] = metrics.base.inside.outbound;
    const one = { ...call, answering };
    metrics.base.inside.outbound = [{ ...one, answerP50Ms: 200, answerMs: 200 }];
    metrics.single.inside = { ...metrics.base.inside, outbound: [{ ...one, answerP50Ms: 20 }] };
    Object.assign(metrics, { responseMs: 210, unloadedLatencyMs: 22 });
    metrics.sockets.outbound = [
      { peer: '127.0.0.1:9000', sockets: 50, min: 50, max: 50, unread: 0, unsent: 0 },
    ];
  };

  test('is saturated, and nothing before it admits requests one by one', () => {
    const inIt = (metrics) => queueing(metrics, 48);
    assert.equal(evaluate('serialized', inIt).hypothesis, undefined);
    assert.match(evaluate('serialized', inIt).why, /wait for http:.*they queue there/);
    // A connection per request is not a pool that hides the queue.
    const { hypothesis } = evaluate('saturated-dependency', inIt);
    assert.ok(hypothesis.predictions['dependency-time-connections-x2']);
  });

  test('is not what requests queue for if only few of them wait for it', () => {
    assert.ok(evaluate('serialized', (metrics) => queueing(metrics, 3)).hypothesis);
  });
});

describe('compression in the thread pool', () => {
  const compressing = (metrics) => {
    const [process] = metrics.base.outside.processes;
    process.others = [1, 2, 3, 4].map((id) => ({ ...process.main, tid: id, run: 0.9 }));
    metrics.base.outside.cpu.server = 3.9;
    metrics.single.inside = metrics.base.inside;
    metrics.base.inside = { ...metrics.base.inside, poolMs: { mean: 50, max: 90 } };
    metrics.sample.headers['content-encoding'] = 'br';
    metrics.identityBytes = 25_000;
  };

  test('is the cause of a full thread pool', () => {
    const { hypothesis } = evaluate('compression', compressing);
    assert.equal(hypothesis.causeOf, 'threadpool');
    assert.match(hypothesis.remedy.change, /BROTLI_PARAM_QUALITY/);
    const gain = hypothesis.predictions['identity-encoding'];
    assert.ok(gain.low > 1.5 && gain.high > 50, JSON.stringify(gain));
    // The gain of the pool without it is unknown: all of its jobs may be compression.
    const pool = evaluate('threadpool', compressing).hypothesis.predictions['identity-encoding'];
    assert.ok(pool.low < 1 && pool.high > 50, JSON.stringify(pool));
  });
});

test('the thread pool is the limit if one thread computes while the others wait in a call', () => {
  const oneBusy = (waitMs) => (metrics) => {
    const [process] = metrics.base.outside.processes;
    const thread = (tid, run) => ({ ...process.main, tid, run });
    process.others = [thread(1, 0.99), thread(2, 0), thread(3, 0), thread(4, 0)];
    metrics.base.outside.cpu.cores = 2;
    Object.assign(metrics, { responseMs: 180, unloadedLatencyMs: 12 });
    metrics.single.inside = metrics.base.inside;
    const poolMs = { mean: waitMs, max: waitMs };
    metrics.base.inside = { ...metrics.base.inside, poolMs };
  };
  const { hypothesis } = evaluate('threadpool', oneBusy(170));
  assert.match(hypothesis.sentence, /only 1 of them computes, on 1.0 cores/);
  // A worker thread is not one of the pool, whose jobs wait a little if there are few cores.
  assert.match(evaluate('threadpool', oneBusy(5)).why, /fewer than the pool has/);
});

test('a logger that buffers its lines is detected by the profile alone', () => {
  const logging = (printing) => (metrics) => {
    metrics.loop.busy = 1;
    metrics.loopTime = { logging: printing, maxLogging: printing, connecting: 0, gc: 0 };
  };
  assert.match(evaluate('logging', logging(0.5)).hypothesis.sentence, /a logger takes 50 %/);
  assert.match(evaluate('logging', logging(0.05)).why, /takes 5 % of the loop's time/);
});
