// What the judges say of facts: healthy ones with one thing changed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateHypotheses } from '../../../dist/explain/hypotheses/evaluate.js';
import { degradesOverTime } from '../../../dist/explain/hypotheses/event-loop/cost-over-time.js';
import { deriveMetrics } from '../../../dist/explain/metrics/derive.js';
import { factsOfHealthy } from '../../fixtures/explain/facts.js';
import { judged } from '../../fixtures/explain/judged.js';

test('of a healthy server nothing is suspected but that it could do more', () => {
  const { hypotheses } = evaluateHypotheses(factsOfHealthy(), {
    retained: null,
    history: [],
    besides: null,
    exhausted: [],
    fresh: null,
  });
  assert.deepEqual(
    hypotheses.map(({ limit }) => limit),
    ['too-few-connections'],
  );
});

describe('a response in two parts, as far apart as an acknowledgement is late', () => {
  const apart = (change = () => {}) =>
    judged('nagle-delayed-ack', (facts) => {
      const { load } = facts.base;
      load.gapMs = { ...load.gapMs, count: load.requests.ok, p50: 41 };
      change(facts);
    }).suspect.weight;
  const atRate = (facts) => {
    const { load } = facts.base;
    facts.model = 'open';
    facts.inFlight = 10;
    Object.assign(load.plan, { model: 'open', rate: facts.base.throughput });
    load.warnings = [];
    load.requests.sent = load.requests.ok;
  };

  test('waits for it, as the experiment will show', () => {
    assert.equal(apart(), 0.99);
  });

  test('may come so late by itself at a rate, of which no experiment is made', () => {
    assert.ok(apart(atRate) < 0.45);
  });

  test('waits for it if bytes are seen to wait for longer than for one part', () => {
    const waits = (gapMs) => (facts) => {
      atRate(facts);
      facts.responseMs = 1.2 * gapMs;
      facts.base.load.gapMs.p50 = gapMs;
      facts.sockets.server.unsent = 0.2;
    };
    assert.equal(apart(waits(200)), 0.99);
    // So long a client keeps the acknowledgement of what comes alone.
    assert.ok(apart(waits(41)) < 0.45);
  });
});

describe('keep-alive-race', () => {
  const race = (facts, { pauseMs, said, failed }) => {
    facts.base.load.plan.thinkTimeMs = pauseMs;
    facts.base.load.errors = [{ kind: 'reset', count: failed, example: null }];
    facts.base.load.requests.sent = 1000;
    facts.errorShare = failed / 1000;
    facts.sample.headers['keep-alive'] = said;
  };

  test('requests that meet the end of an idle connection', () => {
    const { suspect } = judged('keep-alive-race', (facts) =>
      race(facts, { pauseMs: 5500, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(suspect.within, 'errors');
    assert.ok(suspect.predictions['shorter pause'].high < 1);
    assert.match(suspect.sentence, /keeps idle connections for 5.00 s/);
  });

  test('pauses that are much shorter are not to blame', () => {
    const { suspect, why } = judged('keep-alive-race', (facts) =>
      race(facts, { pauseMs: 1000, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(suspect, undefined);
    assert.match(why, /idle for 1.00 s, and kept for 5.00 s/);
  });

  test('without failures there is none', () => {
    const { suspect } = judged('keep-alive-race', (facts) =>
      race(facts, { pauseMs: 5500, said: 'timeout=5', failed: 1 }),
    );
    assert.equal(suspect, undefined);
  });
});

test('a server that ends its connections may keep them on a path that it does not know', () => {
  const unknown = (connection) =>
    judged('connection-churn', (facts) => {
      const { load } = facts.base;
      load.plan.connection = connection;
      load.connections.opened = load.requests.ok;
      Object.assign(facts.loop, { busy: 1, cpuMs: 0.04 });
    }).suspect.predictions['unknown path'];
  assert.deepEqual(unknown('close'), { low: 0.85, high: 2 });
  assert.ok(unknown('keep-alive').high > 100);
});

describe('connections that the server does not let stay open', () => {
  const few = (facts) => {
    facts.inFlight = 8;
    facts.base.load.errors = [{ kind: 'reset', count: 400, example: null }];
    const held = { sockets: 8, least: 8, most: 8, unread: 0, unsent: 0 };
    facts.sockets.server = held;
  };

  test('are errors, and no lack of connections', () => {
    const { suspect } = judged('errors', few);
    assert.match(suspect.sentence, /42 of 50 connections are not open/);
    assert.match(suspect.remedy.change, /more connections than 8/);
    assert.ok(suspect.weight > 0.9);
    const { why } = judged('too-few-connections', few);
    assert.match(why, /does not let 42 of 50 connections stay open/);
  });

  const others = {
    'more requests fail otherwise': ({ base }) =>
      base.load.errors.push({ kind: 'protocol', count: 900, example: null }),
    'more answers are errors': ({ base }) =>
      Object.assign(base.load.requests, { statusErrors: 900 }),
    'each request has a connection': ({ base }) =>
      Object.assign(base.load.connections, { reused: 0 }),
    'they fail now and then only': ({ base }) => Object.assign(base.load.errors[0], { count: 40 }),
    'the server has had them all': ({ sockets }) => Object.assign(sockets.server, { most: 50 }),
    'most of the time goes to opening them': ({ base }) =>
      Object.assign(base.load, { connectMs: { mean: 8000 } }),
  };
  for (const [what, change] of Object.entries(others)) {
    test(`are none where ${what}`, () => {
      const changed = (facts) => {
        few(facts);
        change(facts);
      };
      assert.doesNotMatch(judged('errors', changed).suspect?.sentence ?? '', /not open/);
      assert.ok(judged('too-few-connections', changed).suspect);
    });
  }
});

describe('ephemeral-ports', () => {
  test('all ports wait for the end of a connection, and requests fail', () => {
    const { suspect } = judged('ephemeral-ports', (facts) => {
      facts.sockets.timeWait = 28_000;
      facts.errorShare = 0.2;
      facts.base.load.statusCodes = { 200: 800, 502: 200 };
    });
    assert.equal(suspect.within, 'errors');
    assert.match(suspect.arithmetic[0], /28,232 ports \/ 60 s = 471/);
  });

  test('as long as nothing fails, or only by status 404, it is no limit', () => {
    for (const errorShare of [0, 0.2]) {
      const { suspect } = judged('ephemeral-ports', (facts) => {
        facts.sockets.timeWait = 28_000;
        facts.errorShare = errorShare;
        facts.base.load.statusCodes = { 200: 800, 404: 200 };
      });
      assert.equal(suspect, undefined);
    }
  });
});

describe('bandwidth', () => {
  const onTheWay = (facts, { unsent, bytesEach }) => {
    facts.sockets.server.unsent = unsent;
    const { requests, bytes } = facts.base.load;
    bytes.received = bytesEach * (requests.ok + requests.statusErrors);
    facts.base.load.generator.busy = 0.1;
  };

  test('bytes that were sent and have not arrived, on most connections', () => {
    const { suspect } = judged('bandwidth', (facts) =>
      onTheWay(facts, { unsent: 0.95, bytesEach: 200_000 }),
    );
    assert.match(suspect.sentence, /95 % of the connections hold bytes/);
  });

  test('short responses, or a client that does not read, are something else', () => {
    const short = judged('bandwidth', (facts) => onTheWay(facts, { unsent: 0.95, bytesEach: 500 }));
    assert.equal(short.suspect, undefined);
    const unread = judged('bandwidth', (facts) => {
      onTheWay(facts, { unsent: 0.95, bytesEach: 200_000 });
      facts.sockets.client.unread = 0.9;
    });
    assert.equal(unread.suspect, undefined);
  });
});

describe('listen-backlog', () => {
  test('without repeated connects a request takes what the median of both takes', () => {
    const { suspect } = judged('listen-backlog', (facts) => {
      facts.base.outside.network.listenOverflows = 20;
      Object.assign(facts.base.load.connectMs, { p50: 10, p99: 1020 });
      Object.assign(facts.base.load.latencyMs, { p50: 15 });
      facts.base.load.connections.opened = 500;
      Object.assign(facts, { maxConcurrency: 50, throughput: 100, responseMs: 40 });
    });
    // 50 in 10 + 40 ms, at best in 10 + 15.
    assert.deepEqual(suspect.remedy.predictedThroughput, { low: 1000, high: 2000 });
  });
});

/** A profile in which nothing stands out. */
const SPENT = {
  gc: 0.02,
  files: 0,
  printing: 0,
  printingAtMost: 0,
  writing: 0.1,
  unasked: null,
};

/** What the remedy is said to give of a loop that is full with 1000 requests a second, by a profile. */
function remedied(limit, loopTime, change = () => {}) {
  return judged(limit, (facts) => {
    Object.assign(facts, { throughput: 1000, loopTime: { ...SPENT, ...loopTime } });
    facts.base.throughput = 1000;
    Object.assign(facts.loop, { busy: 1, run: 1, queued: 0, eachMs: 1, cpuMs: 1 });
    change(facts);
  }).suspect.remedy.predictedThroughput;
}

describe('what a profile says of the gain', () => {
  const contains = ({ low, high }, rate) => {
    assert.ok(low < rate && rate < high && high < 2.2 * low, `${low} to ${high}, not ${rate}`);
  };

  test('idle work takes less of a busy loop than of an idle one', () => {
    const idle = (facts) => Object.assign(facts, { idleShare: 0.9 });
    contains(remedied('idle-work', { unasked: 0.5 }, idle), 2000);
    const { why } = judged('idle-work', (facts) => {
      Object.assign(facts, { idleShare: 0.9, loopTime: { ...SPENT, unasked: 0 } });
      Object.assign(facts.loop, { busy: 1, run: 1 });
    });
    assert.match(why, /none of what takes the busiest loop/);
    const { high } = remedied('idle-work', { unasked: null }, idle);
    assert.ok(high > 10_000, `${high}`);
  });

  test('a log costs what the console formats, too', () => {
    const logs = (facts) => {
      facts.base.inside.output = { writes: 10_000, bytes: 1e6, share: 0.2 };
    };
    contains(remedied('logging', { printing: 0.6 }, logs), 2500);
    contains(remedied('logging', { printing: 0 }, logs), 1500);
    // A function of the service that writes it may do more than that.
    const own = remedied('logging', { printing: 0, printingAtMost: 0.8 }, logs);
    assert.equal(own.low, remedied('logging', { printing: 0 }, logs).low);
    assert.ok(Math.abs(own.high - 5000) < 1e-6, `${own.high}`);
  });

  const writes = (facts) => {
    facts.base.outside.processes[0].calls = { writes: 50_000, reads: 1000 };
    facts.base.inside.outbound = [];
  };

  test('writes cost what is above their system call, too', () => {
    // 49 of 50 writes go, and with them 0.8 of the time.
    contains(remedied('many-writes', { writing: 0.8 }, writes), 1000 / (1 - 0.8 * 0.98));
  });

  test('writes of all workers belong to the responses of all', () => {
    const { suspect } = judged('many-writes', (facts) => {
      Object.assign(facts, { throughput: 1000 });
      Object.assign(facts.loop, { busy: 1, cpuMs: 1 });
      facts.base.inside.outbound = [];
      const { inside, outside } = facts.base;
      const [one] = outside.processes;
      outside.processes = [100, 200, 300, 400].map((pid) => ({
        ...one,
        pid,
        main: { ...one.main, pid },
        calls: { writes: 12_500, reads: 1000 },
      }));
      inside.pids = [100, 200, 300, 400];
    });
    assert.match(suspect.sentence, /50.0 system calls write each response/);
  });

  test('writes cost no more than there is', () => {
    const { suspect } = judged('many-writes', (facts) => {
      Object.assign(facts, { throughput: 1000 });
      Object.assign(facts.loop, { busy: 1, cpuMs: 0.1 });
      writes(facts);
    });
    assert.match(suspect.arithmetic[0], /^49.0 .* x about 2.00 µs = 98.0 µs of 100 µs/);
  });
});

describe('what waits or blocks in the loop', () => {
  /** 100 requests a second, each of which holds the loop for 10 ms, 9 of them without a core. */
  const waiting = (files, busyCores = 0.12) =>
    judged('event-loop-sync-wait', (facts) => {
      const loopTime = files === null ? null : { ...SPENT, files };
      Object.assign(facts, { throughput: 100, loopTime });
      facts.base.throughput = 100;
      // What looks takes most of the generator's time, however few requests there are.
      Object.assign(facts.base.outside.cpu, { server: busyCores, others: 0, self: 0.3 });
      Object.assign(facts.base.outside.processes[0].main, { run: 0.1 });
      Object.assign(facts.loop, { busy: 1, run: 0.1, queued: 0, waiting: 0.9, eachMs: 10 });
    }).suspect.remedy.predictedThroughput;

  test('in files, it will wait in the pool of threads', () => {
    // Four threads, 9 ms each.
    const { low, high } = waiting(0.9);
    assert.ok(low < 444 && 444 < high && high < 1.3 * low, `${low} ${high}`);
  });

  test('elsewhere, it will wait nowhere: the loop is the bound, and warmer than it was', () => {
    const { low, high } = waiting(0);
    assert.ok(low > 800 && high > 1500, `${low} ${high}`);
  });

  test('what is started for each request takes cores, too', () => {
    // Of four cores 0.8 are busy with 100 requests a second.
    const { low, high } = waiting(0, 0.8);
    assert.ok(low < 500 && 500 < high && high < 700, `${low} ${high}`);
  });

  test('without a profile, it may be either', () => {
    const { low, high } = waiting(null);
    assert.ok(low < 444 && high > 1500, `${low} ${high}`);
  });

  test('without blocks, all of their time is for requests', () => {
    const { suspect } = judged('event-loop-blocked', (facts) => {
      facts.base.inside.stalls = { share: 0.6, count: 5, longestMs: 90, residualMs: 30, by: [] };
      Object.assign(facts.loop, { busy: 1, run: 1 });
    });
    const { low, high } = suspect.remedy.predictedThroughput;
    assert.ok(low < 2500 && 2500 < high && high < 1.4 * low, `${low} ${high}`);
  });
});

describe('too-few-connections', () => {
  const knee = (change) =>
    judged('too-few-connections', change).suspect.remedy.settings?.connections;

  test('no more are proposed than all that was seen can bear', () => {
    assert.ok(knee(() => {}) > 100, 'the loop alone');
    const cores = knee((facts) => {
      facts.base.outside.cpu.server = 3;
    });
    assert.ok(cores <= 70, `all threads: ${cores}`);
    const pool = knee((facts) => {
      facts.base.inside.outbound[0].maxSockets = 60;
    });
    assert.ok(pool <= 70, `sockets: ${pool}`);
  });

  test('half of an odd number of connections is more than half', () => {
    const half = (connections) => {
      const { suspect } = judged('too-few-connections', (facts) => {
        facts.base.load.plan.connections = connections;
      });
      return suspect.predictions['connections /2'];
    };
    for (const [connections, share] of [
      [3, 2 / 3],
      [5, 0.6],
      [50, 0.5],
    ]) {
      const { low, high } = half(connections);
      assert.ok(
        low < share && share < high && high < 1.2 * low,
        `${connections}: ${low} to ${high}`,
      );
    }
  });

  test('what a driver asks for itself is not what the requests wait for', () => {
    const { suspect } = judged('too-few-connections', (facts) => {
      const [call] = facts.base.inside.outbound;
      const monitor = { ...call, origin: 'tcp://db:27017', rate: 0.1, answering: 48 };
      facts.base.inside.outbound = [monitor];
      facts.base.inside.resources = { Timeout: 50 };
    });
    assert.match(suspect.sentence, /for a timer/);
  });
});

describe('processes that serve nothing', () => {
  test('one that computes for the server is no loop of it', () => {
    const { suspect } = judged('worker-imbalance', (facts) => {
      const [process] = facts.base.outside.processes;
      const main = { ...process.main, pid: 101, tid: 101, run: 0.97 };
      facts.base.outside.processes.push({ ...process, pid: 101, main });
      const { base, single, sample, unknownPath, idleShare, identityBytes, overload } = facts;
      const seen = { base, single, sample, unknownPath, idleShare, identityBytes, overload };
      const changed = deriveMetrics(seen);
      assert.equal(changed.loop.run, 0.3);
      return changed;
    });
    assert.equal(suspect, undefined);
  });
});

describe('degrades-over-time', () => {
  /** Twice as dear in the end, on a machine whose speed swings so that a third of the pairs goes the other way. */
  const SWINGING = [0.24, 0.2, 0.34, 0.21, 0.4, 0.26, 0.55, 0.3, 0.48];
  const ageing = (costs, besides, fresh = null) => {
    const facts = factsOfHealthy();
    Object.assign(facts.loop, { busy: 1, run: 0.99 });
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    const measured = typeof besides === 'number' ? { ratio: besides, low: besides } : besides;
    return degradesOverTime(history, measured, fresh)(facts);
  };

  test('costs that grow with every block', () => {
    const suspect = ageing([0.1, 0.12, 0.15, 0.16, 0.2, 0.22, 0.25, 0.26], null);
    assert.equal(suspect.limit, 'degrades-over-time');
    assert.ok(suspect.weight > 0.6);
  });

  test('costs that swing are told by a second process that gives more than two can', () => {
    assert.ok('why' in ageing(SWINGING, null));
    assert.ok('why' in ageing(SWINGING, 1.9));
    const suspect = ageing(SWINGING, 6.5);
    assert.ok(suspect.predictions['second process'].high > 6.5);
    assert.ok(suspect.predictions['fresh start'].high < 1);
  });

  test('nor do they need to have grown in the middle', () => {
    const costs = [0.185, 0.5, 0.31, 0.42, 0.24, 0.38, 0.2, 0.26, 0.399];
    assert.ok('why' in ageing(costs, 1.9));
    const suspect = ageing(costs, 2.95);
    assert.ok(suspect.predictions['fresh start'].high <= 0.85);
    assert.ok(suspect.remedy.predictedThroughput.low > 0);
    // What it gives may swing as widely: five times as much in the middle, a quarter more at the least.
    assert.ok('predictions' in ageing(costs, { ratio: 5.36, low: 1.27 }));
    assert.ok('why' in ageing(costs, { ratio: 1.9, low: 1.27 }));
  });

  test('one that has aged for long is told by the second process, though its costs grow little by now', () => {
    const costs = [0.4, 0.44, 0.41, 0.45, 0.46, 0.44, 0.5, 0.47, 0.51];
    assert.ok('why' in ageing(costs, null));
    const { weight, predictions } = ageing(costs, 6.5);
    assert.ok(weight > 0.9);
    // Beside the old one it answered 5.5 times as much, and by itself has the old one's time in the core too.
    assert.ok(
      predictions['fresh start'].low < 1 / 5.5 && predictions['fresh start'].high > 1 / 5.5,
    );
    assert.ok(predictions['fresh start'].high < 0.3);
    assert.ok(predictions['second process'].high > 6.5);
  });

  test('of what only a second process has told, a fresh start has to show something', () => {
    const costs = [0.5, 0.5, 0.52, 0.53, 0.52, 0.54, 0.55, 0.55, 0.56];
    const { predictions } = ageing(costs, 2.35);
    assert.ok(predictions['fresh start'].high < 0.9, `${predictions['fresh start'].high}`);
  });

  test('what a second process gives is said beforehand: how old the first one is, is not known', () => {
    const costs = [0.1, 0.12, 0.15, 0.16, 0.2, 0.22, 0.25, 0.26];
    const said = (besides) => ageing(costs, besides).predictions['second process'];
    assert.deepEqual(said(null), said(6.5));
    assert.ok(said(null).low > 0.9 && said(null).high > 6.5);
    // It may get no core of its own.
    const facts = factsOfHealthy();
    Object.assign(facts.loop, { busy: 1, run: 0.99 });
    facts.machine.cpu = { ...facts.machine.cpu, wanted: 1, steal: 0.2 };
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    assert.ok(degradesOverTime(history, null, null)(facts).predictions['second process'].low < 0.9);
  });

  test('a fresh start tells what there is without what grows: more than it gave, as it has grown a little itself', () => {
    const costs = [0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34];
    // 20 µs more each 1000 requests, from 180 on: after 500 it is 190.
    const { remedy } = ageing(costs, null, { requests: 500, cpuMs: 0.19 });
    const { throughput } = factsOfHealthy();
    const { low, high } = remedy.predictedThroughput;
    assert.ok(Math.abs(low / throughput - 0.2 / 0.19) < 1e-9, `${low / throughput}`);
    assert.ok(Math.abs(high / throughput - 0.2 / 0.18) < 1e-9, `${high / throughput}`);
    // A line that leads below nothing is not followed.
    const steep = ageing(costs, null, { requests: 500, cpuMs: 0.001 }).remedy.predictedThroughput;
    assert.ok(Math.abs(steep.high / throughput - 0.2 / 0.00025) < 1, `${steep.high}`);
  });

  test('a second process alone says nothing of age', () => {
    assert.ok('why' in ageing([0.2, 0.21, 0.2, 0.22, 0.2, 0.21], 6.5));
  });
});

test('without garbage its collector no longer takes the core that the loop waits for', () => {
  const gain = (limit, queued, server) => {
    const { suspect } = judged(limit, (facts) => {
      Object.assign(facts.loop, { busy: 1, run: 1 - queued, queued });
      Object.assign(facts.base.outside.cpu, { cores: 2, server, self: 0.1, others: 0 });
      Object.assign(facts.base.outside.processes[0].main, { run: 1 - queued, queued });
      Object.assign(facts.base.inside.gc, { young: 0.4, old: 0.4 });
    });
    const { low, high } = suspect.remedy.predictedThroughput;
    return { low: low / 1000, high: high / 1000, tried: suspect.predictions };
  };
  for (const limit of ['gc-old', 'gc-young']) {
    const alone = gain(limit, 0, 1);
    // Nine tenths of what the other core does are the server's own threads.
    const crowded = gain(limit, 0.5, 1.4);
    assert.ok(Math.abs(crowded.high / alone.high - 1 / (1 - 0.45)) < 1e-9, limit);
    // They may be those of a pool.
    assert.equal(crowded.low, alone.low);
    const experiment = limit === 'gc-old' ? 'heap x2' : 'young generation x4';
    assert.ok(crowded.tried[experiment].high > 1.5 * alone.tried[experiment].high, limit);
    assert.equal(crowded.tried[experiment].low, alone.tried[experiment].low);
  }
});

test('compression is not held to an experiment that the server ignores', () => {
  const compressing = (identityBytes) => (facts) => {
    facts.loop.busy = 1;
    facts.loop.cpuMs = 1;
    facts.base.outside.cpu.server = 1;
    facts.throughput = 1000;
    facts.sample.headers['content-encoding'] = 'gzip';
    facts.sample.bodyBytes = 15_000;
    facts.identityBytes = identityBytes;
  };
  const plain = judged('compression', compressing(60_000)).suspect;
  assert.ok(plain.predictions['identity encoding']);
  const never = judged('compression', compressing(null)).suspect;
  assert.equal(never.predictions['identity encoding'], undefined);
});

test('of refusals it is said what the server asks for', () => {
  const refused = (status) => (facts) => {
    facts.errorShare = 1;
    facts.base.load.requests.statusErrors = 100;
    facts.base.load.statusCodes = { [status]: 100 };
  };
  for (const status of ['401', '403']) {
    assert.match(judged('errors', refused(status)).suspect.remedy.change, /-H 'Authorization/);
  }
  assert.match(judged('errors', refused('500')).suspect.remedy.change, /^mend what fails/);
});
