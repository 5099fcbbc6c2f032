// What the judges say of connections that the service opens, and of what it waits for behind them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judged } from '../../fixtures/explain/judged.js';

/** A busy loop whose requests each open a connection. */
function opening(facts, { origin = 'https://pay:443', opened = 1000, connecting } = {}) {
  Object.assign(facts.loop, { busy: 1, run: 0.98, eachMs: 1, cpuMs: 1 });
  const [call] = facts.base.inside.outbound;
  facts.base.inside.outbound = [{ ...call, origin, opened }];
  if (connecting !== undefined) facts.loopTime = { connecting, gc: 0, printing: 0 };
}

describe('connections for each call', () => {
  test('with TLS it is the handshakes, without the connections', () => {
    const secure = judged('tls-handshake', (facts) => opening(facts, { connecting: 0.6 }));
    assert.match(secure.suspect.sentence, /takes 60 % of the loop's time/);
    assert.equal(secure.suspect.within, 'event-loop-cpu');
    const plain = judged('connection-churn', (facts) =>
      opening(facts, { origin: 'http://stock:80', connecting: 0.3 }),
    );
    assert.match(plain.suspect.sentence, /each call opens one of its own; that takes 30 %/);
    // The other side of the service has none of it, which is not said then.
    assert.equal(plain.why, undefined);
  });

  test('none where connections are kept, take little, or the loop is idle', () => {
    const { suspect } = judged('tls-handshake', (facts) => opening(facts, { opened: 10 }));
    assert.equal(suspect, undefined);
    const little = judged('tls-handshake', (facts) => opening(facts, { connecting: 0.05 }));
    assert.equal(little.suspect, undefined);
    const idle = judged('tls-handshake', (facts) => {
      opening(facts, { connecting: 0.6 });
      facts.loop.busy = 0.3;
    });
    assert.equal(idle.suspect, undefined);
  });
});

describe('nagle-delayed-ack of what is asked', () => {
  const asking = (facts, { holdsBack = true, now = 44, alone = 44 }) => {
    const [call] = facts.base.inside.outbound;
    const one = { ...call, origin: 'tcp://kv:6000', holdsBack, answering: 45 };
    facts.base.inside.outbound = [{ ...one, answerP50Ms: now }];
    facts.single.inside = { ...facts.base.inside, outbound: [{ ...one, answerP50Ms: alone }] };
  };

  test('answers take what the timer takes, one alone as well', () => {
    const { suspect } = judged('nagle-delayed-ack', (facts) => asking(facts, {}));
    assert.ok(suspect.predictions['questions at once'].low > 1.2);
    assert.match(suspect.remedy.change, /setNoDelay\(true\) on the connections to tcp:\/\/kv:6000/);
  });

  test('not if they take another time, queue, or nothing is held back', () => {
    for (const other of [{ now: 60, alone: 60 }, { alone: 20 }, { holdsBack: false }]) {
      const { suspect } = judged('nagle-delayed-ack', (facts) => asking(facts, other));
      assert.equal(suspect, undefined, JSON.stringify(other));
    }
  });
});

describe('a dependency that all requests wait for', () => {
  const queueing = (facts, answering) => {
    const [call] = facts.base.inside.outbound;
    const one = { ...call, answering };
    facts.base.inside.outbound = [{ ...one, answerP50Ms: 200, answerMs: 200 }];
    facts.single.inside = { ...facts.base.inside, outbound: [{ ...one, answerP50Ms: 20 }] };
    Object.assign(facts, { responseMs: 210, unloadedLatencyMs: 22 });
    facts.sockets.outbound = [
      { peer: '127.0.0.1:9000', sockets: 50, least: 50, most: 50, unread: 0, unsent: 0 },
    ];
  };

  test('is saturated, and nothing before it admits one by one', () => {
    const inIt = (facts) => queueing(facts, 48);
    assert.equal(judged('serialized', inIt).suspect, undefined);
    assert.match(judged('serialized', inIt).why, /have asked http:.*they queue there/);
    // A connection for each request is no pool that hides the queue.
    const { suspect } = judged('saturated-dependency', inIt);
    assert.ok(suspect.predictions['dependency, connections x2']);
  });

  test('is not what they wait for if only few have asked it', () => {
    assert.ok(judged('serialized', (facts) => queueing(facts, 3)).suspect);
  });
});

describe('compression by the pool of threads', () => {
  const compressing = (facts) => {
    const [process] = facts.base.outside.processes;
    process.others = [1, 2, 3, 4].map((id) => ({ ...process.main, tid: id, run: 0.9 }));
    facts.base.outside.cpu.server = 3.9;
    facts.single.inside = facts.base.inside;
    facts.base.inside = { ...facts.base.inside, poolMs: { mean: 50, max: 90 } };
    facts.sample.headers['content-encoding'] = 'br';
    facts.identityBytes = 25_000;
  };

  test('is why the threads are taken', () => {
    const { suspect } = judged('compression', compressing);
    assert.equal(suspect.within, 'threadpool');
    assert.match(suspect.remedy.change, /BROTLI_PARAM_QUALITY/);
    const gain = suspect.predictions['identity encoding'];
    assert.ok(gain.low > 1.5 && gain.high > 50, JSON.stringify(gain));
    // What the pool would give without is not known: all of its jobs may be that.
    const pool = judged('threadpool', compressing).suspect.predictions['identity encoding'];
    assert.ok(pool.low < 1 && pool.high > 50, JSON.stringify(pool));
  });
});

test('a thread of the pool that computes while the others wait in some call is what its jobs queue for', () => {
  const oneBusy = (waitMs) => (facts) => {
    const [process] = facts.base.outside.processes;
    const thread = (tid, run) => ({ ...process.main, tid, run });
    process.others = [thread(1, 0.99), thread(2, 0), thread(3, 0), thread(4, 0)];
    facts.base.outside.cpu.cores = 2;
    Object.assign(facts, { responseMs: 180, unloadedLatencyMs: 12 });
    facts.single.inside = facts.base.inside;
    const poolMs = { mean: waitMs, max: waitMs };
    facts.base.inside = { ...facts.base.inside, poolMs };
  };
  const { suspect } = judged('threadpool', oneBusy(170));
  assert.match(suspect.sentence, /only 1 of them computes, with 1.0 cores/);
  // A worker's thread is none of the pool's, whose jobs wait a little where cores are few.
  assert.match(judged('threadpool', oneBusy(5)).why, /fewer than the pool has/);
});

test('a logger that writes later is told by the profile alone', () => {
  const logging = (printing) => (facts) => {
    facts.loop.busy = 1;
    facts.loopTime = { printing, printingAtMost: printing, connecting: 0, gc: 0 };
  };
  assert.match(judged('logging', logging(0.5)).suspect.sentence, /a logger takes 50 %/);
  assert.match(judged('logging', logging(0.05)).why, /takes 5 % of the loop's time/);
});
