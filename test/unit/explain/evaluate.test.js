// What the judges say of facts: healthy ones with one thing changed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateHypotheses } from '../../../dist/explain/hypotheses/evaluate.js';
import { detectDegradesOverTime } from '../../../dist/explain/hypotheses/event-loop/cost-over-time.js';
import { deriveMetrics } from '../../../dist/explain/metrics/derive.js';
import { evaluate } from '../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

test('of a healthy server nothing is suspected but that it could do more', () => {
  const { hypotheses } = evaluateHypotheses(buildHealthyMetrics(), {
    retained: null,
    costOverTime: [],
    secondProcess: null,
    exhausted: [],
    afterRestart: null,
  });
  assert.deepEqual(
    hypotheses.map(({ limit }) => limit),
    ['too-few-connections'],
  );
});

describe('a response in two parts, as far apart as an acknowledgement is late', () => {
  const apart = (change = () => {}) =>
    evaluate('nagle-delayed-ack', (metrics) => {
      const { load } = metrics.base;
      load.gapMs = { ...load.gapMs, count: load.requests.ok, p50: 41 };
      change(metrics);
    }).hypothesis.weight;
  const atRate = (metrics) => {
    const { load } = metrics.base;
    metrics.model = 'open';
    metrics.inFlight = 10;
    Object.assign(load.plan, { model: 'open', rate: metrics.base.throughput });
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
    const waits = (gapMs) => (metrics) => {
      atRate(metrics);
      metrics.responseMs = 1.2 * gapMs;
      metrics.base.load.gapMs.p50 = gapMs;
      metrics.sockets.server.unsent = 0.2;
    };
    assert.equal(apart(waits(200)), 0.99);
    // So long a client keeps the acknowledgement of what comes alone.
    assert.ok(apart(waits(41)) < 0.45);
  });
});

describe('keep-alive-race', () => {
  const race = (metrics, { pauseMs, said, failed }) => {
    metrics.base.load.plan.thinkTimeMs = pauseMs;
    metrics.base.load.errors = [{ kind: 'reset', count: failed, example: null }];
    metrics.base.load.requests.sent = 1000;
    metrics.errorShare = failed / 1000;
    metrics.sample.headers['keep-alive'] = said;
  };

  test('requests that meet the end of an idle connection', () => {
    const { hypothesis } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 5500, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(hypothesis.causeOf, 'errors');
    assert.ok(hypothesis.predictions['shorter pause'].high < 1);
    assert.match(hypothesis.sentence, /keeps idle connections for 5.00 s/);
  });

  test('pauses that are much shorter are not to blame', () => {
    const { hypothesis, why } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 1000, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(hypothesis, undefined);
    assert.match(why, /idle for 1.00 s, and kept for 5.00 s/);
  });

  test('without failures there is none', () => {
    const { hypothesis } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 5500, said: 'timeout=5', failed: 1 }),
    );
    assert.equal(hypothesis, undefined);
  });
});

test('a server that ends its connections may keep them on a path that it does not know', () => {
  const unknown = (connection) =>
    evaluate('connection-churn', (metrics) => {
      const { load } = metrics.base;
      load.plan.connection = connection;
      load.connections.opened = load.requests.ok;
      Object.assign(metrics.loop, { busy: 1, cpuMs: 0.04 });
    }).hypothesis.predictions['unknown path'];
  assert.deepEqual(unknown('close'), { low: 0.85, high: 2 });
  assert.ok(unknown('keep-alive').high > 100);
});

describe('connections that the server does not let stay open', () => {
  const few = (metrics) => {
    metrics.inFlight = 8;
    metrics.base.load.errors = [{ kind: 'reset', count: 400, example: null }];
    const held = { sockets: 8, min: 8, max: 8, unread: 0, unsent: 0 };
    metrics.sockets.server = held;
  };

  test('are errors, and no lack of connections', () => {
    const { hypothesis } = evaluate('errors', few);
    assert.match(hypothesis.sentence, /42 of 50 connections are not open/);
    assert.match(hypothesis.remedy.change, /more connections than 8/);
    assert.ok(hypothesis.weight > 0.9);
    const { why } = evaluate('too-few-connections', few);
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
    'the server has had them all': ({ sockets }) => Object.assign(sockets.server, { max: 50 }),
    'most of the time goes to opening them': ({ base }) =>
      Object.assign(base.load, { connectMs: { mean: 8000 } }),
  };
  for (const [what, change] of Object.entries(others)) {
    test(`are none where ${what}`, () => {
      const changed = (metrics) => {
        few(metrics);
        change(metrics);
      };
      assert.doesNotMatch(evaluate('errors', changed).hypothesis?.sentence ?? '', /not open/);
      assert.ok(evaluate('too-few-connections', changed).hypothesis);
    });
  }
});

describe('ephemeral-ports', () => {
  test('all ports wait for the end of a connection, and requests fail', () => {
    const { hypothesis } = evaluate('ephemeral-ports', (metrics) => {
      metrics.sockets.timeWait = 28_000;
      metrics.errorShare = 0.2;
      metrics.base.load.statusCodes = { 200: 800, 502: 200 };
    });
    assert.equal(hypothesis.causeOf, 'errors');
    assert.match(hypothesis.arithmetic[0], /28,232 ports \/ 60 s = 471/);
  });

  test('as long as nothing fails, or only by status 404, it is no limit', () => {
    for (const errorShare of [0, 0.2]) {
      const { hypothesis } = evaluate('ephemeral-ports', (metrics) => {
        metrics.sockets.timeWait = 28_000;
        metrics.errorShare = errorShare;
        metrics.base.load.statusCodes = { 200: 800, 404: 200 };
      });
      assert.equal(hypothesis, undefined);
    }
  });
});

describe('bandwidth', () => {
  const onTheWay = (metrics, { unsent, bytesEach }) => {
    metrics.sockets.server.unsent = unsent;
    const { requests, bytes } = metrics.base.load;
    bytes.received = bytesEach * (requests.ok + requests.statusErrors);
    metrics.base.load.generator.busy = 0.1;
  };

  test('bytes that were sent and have not arrived, on most connections', () => {
    const { hypothesis } = evaluate('bandwidth', (metrics) =>
      onTheWay(metrics, { unsent: 0.95, bytesEach: 200_000 }),
    );
    assert.match(hypothesis.sentence, /95 % of the connections hold bytes/);
  });

  test('short responses, or a client that does not read, are something else', () => {
    const short = evaluate('bandwidth', (metrics) =>
      onTheWay(metrics, { unsent: 0.95, bytesEach: 500 }),
    );
    assert.equal(short.hypothesis, undefined);
    const unread = evaluate('bandwidth', (metrics) => {
      onTheWay(metrics, { unsent: 0.95, bytesEach: 200_000 });
      metrics.sockets.client.unread = 0.9;
    });
    assert.equal(unread.hypothesis, undefined);
  });
});

describe('listen-backlog', () => {
  test('without repeated connects a request takes what the median of both takes', () => {
    const { hypothesis } = evaluate('listen-backlog', (metrics) => {
      metrics.base.outside.network.listenOverflows = 20;
      Object.assign(metrics.base.load.connectMs, { p50: 10, p99: 1020 });
      Object.assign(metrics.base.load.latencyMs, { p50: 15 });
      metrics.base.load.connections.opened = 500;
      Object.assign(metrics, { maxConcurrency: 50, throughput: 100, responseMs: 40 });
    });
    // 50 in 10 + 40 ms, at best in 10 + 15.
    assert.deepEqual(hypothesis.remedy.predictedThroughput, { low: 1000, high: 2000 });
  });
});

/** A profile in which nothing stands out. */
const SPENT = {
  gc: 0.02,
  files: 0,
  logging: 0,
  maxLogging: 0,
  writing: 0.1,
  background: null,
};

/** What the remedy is said to give of a loop that is full with 1000 requests a second, by a profile. */
function remedied(limit, loopTime, change = () => {}) {
  return evaluate(limit, (metrics) => {
    Object.assign(metrics, { throughput: 1000, loopTime: { ...SPENT, ...loopTime } });
    metrics.base.throughput = 1000;
    Object.assign(metrics.loop, { busy: 1, run: 1, queued: 0, busyMs: 1, cpuMs: 1 });
    change(metrics);
  }).hypothesis.remedy.predictedThroughput;
}

describe('what a profile says of the gain', () => {
  const contains = ({ low, high }, rate) => {
    assert.ok(low < rate && rate < high && high < 2.2 * low, `${low} to ${high}, not ${rate}`);
  };

  test('idle work takes less of a busy loop than of an idle one', () => {
    const idle = (metrics) => Object.assign(metrics, { idleShare: 0.9 });
    contains(remedied('idle-work', { background: 0.5 }, idle), 2000);
    const { why } = evaluate('idle-work', (metrics) => {
      Object.assign(metrics, { idleShare: 0.9, loopTime: { ...SPENT, background: 0 } });
      Object.assign(metrics.loop, { busy: 1, run: 1 });
    });
    assert.match(why, /none of what takes the busiest loop/);
    const { high } = remedied('idle-work', { background: null }, idle);
    assert.ok(high > 10_000, `${high}`);
  });

  test('a log costs what the console formats, too', () => {
    const logs = (metrics) => {
      metrics.base.inside.output = { writes: 10_000, bytes: 1e6, share: 0.2 };
    };
    contains(remedied('logging', { logging: 0.6 }, logs), 2500);
    contains(remedied('logging', { logging: 0 }, logs), 1500);
    // A function of the service that writes it may do more than that.
    const own = remedied('logging', { logging: 0, maxLogging: 0.8 }, logs);
    assert.equal(own.low, remedied('logging', { logging: 0 }, logs).low);
    assert.ok(Math.abs(own.high - 5000) < 1e-6, `${own.high}`);
  });

  const writes = (metrics) => {
    metrics.base.outside.processes[0].calls = { writes: 50_000, reads: 1000 };
    metrics.base.inside.outbound = [];
  };

  test('writes cost what is above their system call, too', () => {
    // 49 of 50 writes go, and with them 0.8 of the time.
    contains(remedied('many-writes', { writing: 0.8 }, writes), 1000 / (1 - 0.8 * 0.98));
  });

  test('writes of all workers belong to the responses of all', () => {
    const { hypothesis } = evaluate('many-writes', (metrics) => {
      Object.assign(metrics, { throughput: 1000 });
      Object.assign(metrics.loop, { busy: 1, cpuMs: 1 });
      metrics.base.inside.outbound = [];
      const { inside, outside } = metrics.base;
      const [one] = outside.processes;
      outside.processes = [100, 200, 300, 400].map((pid) => ({
        ...one,
        pid,
        main: { ...one.main, pid },
        calls: { writes: 12_500, reads: 1000 },
      }));
      inside.pids = [100, 200, 300, 400];
    });
    assert.match(hypothesis.sentence, /50.0 system calls write each response/);
  });

  test('writes cost no more than there is', () => {
    const { hypothesis } = evaluate('many-writes', (metrics) => {
      Object.assign(metrics, { throughput: 1000 });
      Object.assign(metrics.loop, { busy: 1, cpuMs: 0.1 });
      writes(metrics);
    });
    assert.match(hypothesis.arithmetic[0], /^49.0 .* x about 2.00 µs = 98.0 µs of 100 µs/);
  });
});

describe('what waits or blocks in the loop', () => {
  /** 100 requests a second, each of which holds the loop for 10 ms, 9 of them without a core. */
  const waiting = (files, busyCores = 0.12) =>
    evaluate('event-loop-sync-wait', (metrics) => {
      const loopTime = files === null ? null : { ...SPENT, files };
      Object.assign(metrics, { throughput: 100, loopTime });
      metrics.base.throughput = 100;
      // What looks takes most of the generator's time, however few requests there are.
      Object.assign(metrics.base.outside.cpu, { server: busyCores, others: 0, self: 0.3 });
      Object.assign(metrics.base.outside.processes[0].main, { run: 0.1 });
      Object.assign(metrics.loop, { busy: 1, run: 0.1, queued: 0, waiting: 0.9, busyMs: 10 });
    }).hypothesis.remedy.predictedThroughput;

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
    const { hypothesis } = evaluate('event-loop-blocked', (metrics) => {
      metrics.base.inside.stalls = {
        share: 0.6,
        count: 5,
        longestMs: 90,
        residualMs: 30,
        byCause: [],
      };
      Object.assign(metrics.loop, { busy: 1, run: 1 });
    });
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low < 2500 && 2500 < high && high < 1.4 * low, `${low} ${high}`);
  });
});

describe('too-few-connections', () => {
  const knee = (change) =>
    evaluate('too-few-connections', change).hypothesis.remedy.settings?.connections;

  test('no more are proposed than all that was seen can bear', () => {
    assert.ok(knee(() => {}) > 100, 'the loop alone');
    const cores = knee((metrics) => {
      metrics.base.outside.cpu.server = 3;
    });
    assert.ok(cores <= 70, `all threads: ${cores}`);
    const pool = knee((metrics) => {
      metrics.base.inside.outbound[0].maxSockets = 60;
    });
    assert.ok(pool <= 70, `sockets: ${pool}`);
  });

  test('half of an odd number of connections is more than half', () => {
    const half = (connections) => {
      const { hypothesis } = evaluate('too-few-connections', (metrics) => {
        metrics.base.load.plan.connections = connections;
      });
      return hypothesis.predictions['connections /2'];
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
    const { hypothesis } = evaluate('too-few-connections', (metrics) => {
      const [call] = metrics.base.inside.outbound;
      const monitor = { ...call, origin: 'tcp://db:27017', rate: 0.1, answering: 48 };
      metrics.base.inside.outbound = [monitor];
      metrics.base.inside.resources = { Timeout: 50 };
    });
    assert.match(hypothesis.sentence, /for a timer/);
  });
});

describe('processes that serve nothing', () => {
  test('one that computes for the server is no loop of it', () => {
    const { hypothesis } = evaluate('worker-imbalance', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const main = { ...process.main, pid: 101, tid: 101, run: 0.97 };
      metrics.base.outside.processes.push({ ...process, pid: 101, main });
      const { base, single, sample, unknownPath, idleShare, identityBytes, overload } = metrics;
      const seen = { base, single, sample, unknownPath, idleShare, identityBytes, overload };
      const changed = deriveMetrics(seen);
      assert.equal(changed.loop.run, 0.3);
      return changed;
    });
    assert.equal(hypothesis, undefined);
  });
});

describe('degrades-over-time', () => {
  /** Twice as dear in the end, on a machine whose speed swings so that a third of the pairs goes the other way. */
  const SWINGING = [0.24, 0.2, 0.34, 0.21, 0.4, 0.26, 0.55, 0.3, 0.48];
  const ageing = (costs, besides, fresh = null) => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1, run: 0.99 });
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    const measured = typeof besides === 'number' ? { ratio: besides, low: besides } : besides;
    return detectDegradesOverTime(history, measured, fresh)(metrics);
  };

  test('costs that grow with every block', () => {
    const hypothesis = ageing([0.1, 0.12, 0.15, 0.16, 0.2, 0.22, 0.25, 0.26], null);
    assert.equal(hypothesis.limit, 'degrades-over-time');
    assert.ok(hypothesis.weight > 0.6);
  });

  test('costs that swing are told by a second process that gives more than two can', () => {
    assert.ok('why' in ageing(SWINGING, null));
    assert.ok('why' in ageing(SWINGING, 1.9));
    const hypothesis = ageing(SWINGING, 6.5);
    assert.ok(hypothesis.predictions['second process'].high > 6.5);
    assert.ok(hypothesis.predictions['fresh start'].high < 1);
  });

  test('nor do they need to have grown in the middle', () => {
    const costs = [0.185, 0.5, 0.31, 0.42, 0.24, 0.38, 0.2, 0.26, 0.399];
    assert.ok('why' in ageing(costs, 1.9));
    const hypothesis = ageing(costs, 2.95);
    assert.ok(hypothesis.predictions['fresh start'].high <= 0.85);
    assert.ok(hypothesis.remedy.predictedThroughput.low > 0);
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
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1, run: 0.99 });
    metrics.machine.cpu = { ...metrics.machine.cpu, wanted: 1, steal: 0.2 };
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    assert.ok(
      detectDegradesOverTime(history, null, null)(metrics).predictions['second process'].low < 0.9,
    );
  });

  test('a fresh start tells what there is without what grows: more than it gave, as it has grown a little itself', () => {
    const costs = [0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34];
    // 20 µs more each 1000 requests, from 180 on: after 500 it is 190.
    const { remedy } = ageing(costs, null, { requests: 500, cpuMs: 0.19 });
    const { throughput } = buildHealthyMetrics();
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
    const { hypothesis } = evaluate(limit, (metrics) => {
      Object.assign(metrics.loop, { busy: 1, run: 1 - queued, queued });
      Object.assign(metrics.base.outside.cpu, { cores: 2, server, self: 0.1, others: 0 });
      Object.assign(metrics.base.outside.processes[0].main, { run: 1 - queued, queued });
      Object.assign(metrics.base.inside.gc, { young: 0.4, old: 0.4 });
    });
    const { low, high } = hypothesis.remedy.predictedThroughput;
    return { low: low / 1000, high: high / 1000, tried: hypothesis.predictions };
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
  const compressing = (identityBytes) => (metrics) => {
    metrics.loop.busy = 1;
    metrics.loop.cpuMs = 1;
    metrics.base.outside.cpu.server = 1;
    metrics.throughput = 1000;
    metrics.sample.headers['content-encoding'] = 'gzip';
    metrics.sample.bodyBytes = 15_000;
    metrics.identityBytes = identityBytes;
  };
  const plain = evaluate('compression', compressing(60_000)).hypothesis;
  assert.ok(plain.predictions['identity encoding']);
  const never = evaluate('compression', compressing(null)).hypothesis;
  assert.equal(never.predictions['identity encoding'], undefined);
});

test('of refusals it is said what the server asks for', () => {
  const refused = (status) => (metrics) => {
    metrics.errorShare = 1;
    metrics.base.load.requests.statusErrors = 100;
    metrics.base.load.statusCodes = { [status]: 100 };
  };
  for (const status of ['401', '403']) {
    assert.match(evaluate('errors', refused(status)).hypothesis.remedy.change, /-H 'Authorization/);
  }
  assert.match(evaluate('errors', refused('500')).hypothesis.remedy.change, /^mend what fails/);
});
