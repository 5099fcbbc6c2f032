// Detectors of the other limits: metrics of a healthy server with one thing changed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateHypotheses } from '#internal/explain/limits/evaluate.js';
import { deriveMetrics } from '#internal/explain/metrics/derive.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

test('the only hypothesis for a healthy server is that it could serve more', () => {
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

describe('a response in two parts, a delayed acknowledgement apart', () => {
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

  test('is a strong hypothesis for a closed load', () => {
    assert.equal(apart(), 0.99);
  });

  test('is a weak hypothesis for a load with a rate, as no experiment is made', () => {
    assert.ok(apart(atRate) < 0.45);
  });

  test('is a strong hypothesis at a rate if bytes wait longer than the acknowledgement of one part', () => {
    const waits = (gapMs) => (metrics) => {
      atRate(metrics);
      metrics.responseMs = 1.2 * gapMs;
      metrics.base.load.gapMs.p50 = gapMs;
      metrics.sockets.server.unsent = 0.2;
    };
    assert.equal(apart(waits(200)), 0.99);
    // A client delays the acknowledgement of a single part as long.
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

  test('is the limit if requests meet the end of an idle connection', () => {
    const { hypothesis } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 5500, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(hypothesis.causeOf, 'errors');
    assert.ok(hypothesis.predictions['think-time-half'].high < 1);
    assert.match(hypothesis.sentence, /the server keeps idle connections for 5.00 s/);
  });

  test('is ruled out if the pauses are much shorter than the timeout', () => {
    const { hypothesis, why } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 1000, said: 'timeout=5', failed: 100 }),
    );
    assert.equal(hypothesis, undefined);
    assert.match(why, /idle for 1.00 s, and the server keeps them for 5.00 s/);
  });

  test('is ruled out without failures', () => {
    const { hypothesis } = evaluate('keep-alive-race', (metrics) =>
      race(metrics, { pauseMs: 5500, said: 'timeout=5', failed: 1 }),
    );
    assert.equal(hypothesis, undefined);
  });
});

test('a server that closes its connections may keep them on an unknown path', () => {
  const unknown = (connection) =>
    evaluate('connection-churn', (metrics) => {
      const { load } = metrics.base;
      load.plan.connection = connection;
      load.connections.opened = load.requests.ok;
      Object.assign(metrics.loop, { busy: 1, cpuMs: 0.04 });
    }).hypothesis.predictions['not-found-path'];
  assert.deepEqual(unknown('close'), { low: 0.85, high: 2 });
  assert.ok(unknown('keep-alive').high > 100);
});

describe('connections that the server does not keep open', () => {
  const few = (metrics) => {
    metrics.inFlight = 8;
    metrics.base.load.errors = [{ kind: 'reset', count: 400, example: null }];
    const held = { sockets: 8, min: 8, max: 8, unread: 0, unsent: 0 };
    metrics.sockets.server = held;
  };

  test('are errors, not too few connections', () => {
    const { hypothesis } = evaluate('errors', few);
    assert.match(hypothesis.sentence, /42 of 50 connections are not open/);
    assert.match(hypothesis.remedy.change, /more connections than 8/);
    assert.ok(hypothesis.weight > 0.9);
    const { why } = evaluate('too-few-connections', few);
    assert.match(why, /does not keep 42 of 50 connections open/);
  });

  const others = {
    'more requests fail in another way': ({ base }) =>
      base.load.errors.push({ kind: 'protocol', count: 900, example: null }),
    'more responses are errors': ({ base }) =>
      Object.assign(base.load.requests, { statusErrors: 900 }),
    'each request has a connection': ({ base }) =>
      Object.assign(base.load.connections, { reused: 0 }),
    'they fail only now and then': ({ base }) => Object.assign(base.load.errors[0], { count: 40 }),
    'the server had all of them open': ({ sockets }) => Object.assign(sockets.server, { max: 50 }),
    'opening them takes most of the time': ({ base }) =>
      Object.assign(base.load, { connectMs: { mean: 8000 } }),
  };
  for (const [what, change] of Object.entries(others)) {
    test(`are not the limit if ${what}`, () => {
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
  test('is the limit if all ports are in TIME_WAIT and requests fail', () => {
    const { hypothesis } = evaluate('ephemeral-ports', (metrics) => {
      metrics.sockets.timeWait = 28_000;
      metrics.errorShare = 0.2;
      metrics.base.load.statusCodes = { 200: 800, 502: 200 };
    });
    assert.equal(hypothesis.causeOf, 'errors');
    assert.match(hypothesis.arithmetic[0], /28,232 ports \/ 60 s = 471/);
  });

  test('is ruled out if nothing fails, or only with status 404', () => {
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

  test('is the limit if most connections have bytes in transit', () => {
    const { hypothesis } = evaluate('bandwidth', (metrics) =>
      onTheWay(metrics, { unsent: 0.95, bytesEach: 200_000 }),
    );
    assert.match(hypothesis.sentence, /95 % of the connections have bytes in transit/);
  });

  test('is ruled out with short responses, or with a client that does not read', () => {
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
  test('predicts requests without retries to take the medians of connect time and response time', () => {
    const { hypothesis } = evaluate('listen-backlog', (metrics) => {
      metrics.base.outside.network.listenOverflows = 20;
      Object.assign(metrics.base.load.connectMs, { p50: 10, p99: 1020 });
      Object.assign(metrics.base.load.latencyMs, { p50: 15 });
      metrics.base.load.connections.opened = 500;
      Object.assign(metrics, { maxConcurrency: 50, throughput: 100, responseMs: 40 });
    });
    // 50 requests in 10 + 40 ms, at best in 10 + 15 ms.
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

/** Predicts the throughput after the remedy for a loop saturated by 1000 requests per second, with a profile. */
function remedied(limit, loopTime, change = () => {}) {
  return evaluate(limit, (metrics) => {
    Object.assign(metrics, { throughput: 1000, loopTime: { ...SPENT, ...loopTime } });
    metrics.base.throughput = 1000;
    Object.assign(metrics.loop, { busy: 1, run: 1, queued: 0, busyMs: 1, cpuMs: 1 });
    change(metrics);
  }).hypothesis.remedy.predictedThroughput;
}

describe('the gain with a profile', () => {
  const contains = ({ low, high }, rate) => {
    assert.ok(low < rate && rate < high && high < 2.2 * low, `${low} to ${high}, not ${rate}`);
  };

  test('is smaller for background work than its share of an idle loop', () => {
    const idle = (metrics) => Object.assign(metrics, { idleShare: 0.9 });
    contains(remedied('idle-work', { background: 0.5 }, idle), 2000);
    const { why } = evaluate('idle-work', (metrics) => {
      Object.assign(metrics, { idleShare: 0.9, loopTime: { ...SPENT, background: 0 } });
      Object.assign(metrics.loop, { busy: 1, run: 1 });
    });
    assert.match(why, /takes none of the busiest loop/);
    const { high } = remedied('idle-work', { background: null }, idle);
    assert.ok(high > 10_000, `${high}`);
  });

  test('includes formatting for logging', () => {
    const logs = (metrics) => {
      metrics.base.inside.output = { writes: 10_000, bytes: 1e6, share: 0.2 };
    };
    contains(remedied('logging', { logging: 0.6 }, logs), 2500);
    contains(remedied('logging', { logging: 0 }, logs), 1500);
    // A function of the service that writes the log may do other work too.
    const own = remedied('logging', { logging: 0, maxLogging: 0.8 }, logs);
    assert.equal(own.low, remedied('logging', { logging: 0 }, logs).low);
    // What remains besides a function that writes output and takes 80 % of the loop may cost 0.4 of its share.
    assert.ok(own.high > 12_000, `${own.high}`);
  });

  const writes = (metrics) => {
    metrics.base.outside.processes[0].calls = { writes: 50_000, reads: 1000 };
    metrics.base.inside.outbound = [];
  };

  test('includes the work above the system call for writes', () => {
    // 49 of 50 writes are saved, which take 0.8 of the time.
    contains(remedied('many-writes', { writing: 0.8 }, writes), 1000 / (1 - 0.8 * 0.98));
  });

  test('counts the writes of all workers', () => {
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
    assert.match(hypothesis.sentence, /each response takes 50.0 write system calls/);
  });

  test('is no more than the CPU time per request for writes', () => {
    const { hypothesis } = evaluate('many-writes', (metrics) => {
      Object.assign(metrics, { throughput: 1000 });
      Object.assign(metrics.loop, { busy: 1, cpuMs: 0.1 });
      writes(metrics);
    });
    assert.match(hypothesis.arithmetic[0], /^49.0 .* x about 2.00 µs = 98.0 µs of 100 µs/);
  });
});

describe('without synchronous waits and blocks of the loop', () => {
  /** 100 requests per second, each of which takes the loop for 10 ms, 9 of them without a core. */
  const waiting = (files, busyCores = 0.12) =>
    evaluate('event-loop-sync-wait', (metrics) => {
      const loopTime = files === null ? null : { ...SPENT, files };
      Object.assign(metrics, { throughput: 100, loopTime });
      metrics.base.throughput = 100;
      // Observing takes most of the generator's time, however few requests there are.
      Object.assign(metrics.base.outside.cpu, { server: busyCores, others: 0, self: 0.3 });
      Object.assign(metrics.base.outside.processes[0].main, { run: 0.1 });
      Object.assign(metrics.loop, { busy: 1, run: 0.1, queued: 0, waiting: 0.9, busyMs: 10 });
    }).hypothesis.remedy.predictedThroughput;

  test('file access waits in the thread pool', () => {
    // Four threads, 9 ms each.
    const { low, high } = waiting(0.9);
    assert.ok(low < 444 && 444 < high && high < 1.3 * low, `${low} ${high}`);
  });

  test('other waits are bounded by the loop only, which is warmer than before', () => {
    const { low, high } = waiting(0);
    assert.ok(low > 800 && high > 1500, `${low} ${high}`);
  });

  test('processes that each request starts take cores too', () => {
    // Of four cores 0.8 are busy with 100 requests a second.
    const { low, high } = waiting(0, 0.8);
    assert.ok(low < 500 && 500 < high && high < 700, `${low} ${high}`);
  });

  test('waits may be of either kind without a profile', () => {
    const { low, high } = waiting(null);
    assert.ok(low < 444 && high > 1500, `${low} ${high}`);
  });

  test('a few long callbacks are a limit if requests wait for them, a single one is chance', () => {
    const found = (share, count) =>
      evaluate('event-loop-blocked', (metrics) => {
        const stalls = { share, count, longestMs: 90, residualMs: 30, byCause: [] };
        Object.assign(metrics.base.inside, { stalls });
        metrics.responseMs = 50;
      }).hypothesis !== undefined;
    assert.deepEqual([found(0.05, 4), found(0.05, 1), found(0.005, 4)], [true, false, false]);
  });

  test('the time of long callbacks is available for requests', () => {
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

  test('proposes no more than the observed capacity', () => {
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

  test('predicts half of an odd number of connections as more than half', () => {
    const half = (connections) => {
      const { hypothesis } = evaluate('too-few-connections', (metrics) => {
        metrics.base.load.plan.connections = connections;
      });
      return hypothesis.predictions['connections-half'];
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

  test("does not name a driver's own calls as what requests wait for", () => {
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
  test('one that only computes does not count as a loop of the server', () => {
    const { hypothesis } = evaluate('worker-imbalance', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const main = { ...process.main, pid: 101, tid: 101, run: 0.97 };
      metrics.base.outside.processes.push({ ...process, pid: 101, main });
      const { base, single, sample, unknownPath, idleShare, idleOthers } = metrics;
      const { identityBytes, overload, idleThreadShare } = metrics;
      const known = {
        sample,
        unknownPath,
        idleShare,
        idleThreadShare,
        idleOthers,
        identityBytes,
        overload,
      };
      const seen = { base, single, ...known };
      const changed = deriveMetrics(seen);
      assert.equal(changed.loop.run, 0.3);
      return changed;
    });
    assert.equal(hypothesis, undefined);
  });
});

test("without garbage the collector's threads release the core that the loop waits for", () => {
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
    // The server's own threads take nine tenths of the other core's time.
    const crowded = gain(limit, 0.5, 1.4);
    assert.ok(Math.abs(crowded.high / alone.high - 1 / (1 - 0.45)) < 1e-9, limit);
    // They may be threads of a pool.
    assert.equal(crowded.low, alone.low);
    const experiment = limit === 'gc-old' ? 'heap-x2' : 'young-generation-x4';
    assert.ok(crowded.tried[experiment].high > 1.5 * alone.tried[experiment].high, limit);
    assert.equal(crowded.tried[experiment].low, alone.tried[experiment].low);
  }
});

test('compression predicts no experiment that the server ignores', () => {
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
  assert.ok(plain.predictions['identity-encoding']);
  const never = evaluate('compression', compressing(null)).hypothesis;
  assert.equal(never.predictions['identity-encoding'], undefined);
});

test('the remedy for refused requests is to send credentials', () => {
  const refused = (status) => (metrics) => {
    metrics.errorShare = 1;
    metrics.base.load.requests.statusErrors = 100;
    metrics.base.load.statusCodes = { [status]: 100 };
  };
  for (const status of ['401', '403']) {
    assert.match(evaluate('errors', refused(status)).hypothesis.remedy.change, /-H 'Authorization/);
  }
  assert.match(
    evaluate('errors', refused('500')).hypothesis.remedy.change,
    /^fix the errors first/,
  );
});

test('connections that are accepted one per turn are less likely the limit if each turn is a TLS handshake', () => {
  const accept = (tlsFull) =>
    evaluate('accept-rate', (metrics) => {
      const { load, inside, sockets } = metrics.base;
      const opened = 10 * load.plan.connections;
      const connections = { ...load.connections, opened, tlsFull };
      metrics.base.load = { ...load, connections };
      metrics.base.inside = { ...inside, loops: (opened * 1000) / load.durationMs };
      metrics.sockets = { ...sockets, listen: { waiting: 18, backlog: 511 } };
      Object.assign(metrics.loop, { busy: 1 });
    }).hypothesis.weight;
  assert.ok(accept(1e6) < accept(0));
});

describe('a loop that is busy with inbound TLS handshakes', () => {
  const handshakes = (tlsFull, tlsResumed, { cpuMs = 2, rsaBits = null } = {}) =>
    evaluate('tls-handshake', (metrics) => {
      metrics.sample = { ...metrics.sample, rsaBits };
      const { load } = metrics.base;
      const plan = { ...load.plan, handshake: 'full' };
      const opened = tlsFull + tlsResumed;
      const requests = { ...load.requests, ok: opened, statusErrors: 0 };
      const connections = { ...load.connections, opened, tlsFull, tlsResumed };
      metrics.base.load = { ...load, plan, requests, connections };
      Object.assign(metrics.loop, { busy: 1, run: 1, cpuMs });
    }).hypothesis.predictions;

  test('is predicted to gain nothing by resumption where most handshakes resume a session', () => {
    assert.ok(handshakes(1000, 0)['tls-resumption'].high > 1.5);
    assert.ok(handshakes(20, 1000)['tls-resumption'].high < 1.2);
  });

  test('may gain far more without an RSA signature of 4096 bits, which takes about eight times as long as of 2048', () => {
    const kept = (rsaBits) => handshakes(1000, 0, { cpuMs: 5, rsaBits })['tls-keep-alive'].high;
    assert.ok(kept(2048) < 3 && kept(4096) > 40, `${kept(2048)}, ${kept(4096)}`);
  });
});

test('a loop that waits for the threads of the garbage collector is busy with the collection', () => {
  const busy = (young) =>
    evaluate('event-loop-cpu', (metrics) => {
      Object.assign(metrics.loop, { busy: 1, run: 0.75, queued: 0.05, stolen: 0, waiting: 0.17 });
      metrics.base.inside.gc = { ...metrics.base.inside.gc, young };
    }).hypothesis;
  assert.ok(busy(0.28));
  assert.equal(busy(0.01), undefined);
});
