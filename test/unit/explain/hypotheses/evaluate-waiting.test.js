// Detectors of limits that requests wait for behind an idle loop: pools, dependencies, locks.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPoolSize } from '#internal/explain/hypotheses/machine/pool-size.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

describe('slow-dependency', () => {
  const waiting = (metrics, rssMb) => {
    metrics.model = 'open';
    metrics.inFlight = 300;
    metrics.base.inside.outbound[0].answering = 295;
    metrics.base.inside.outbound[0].answerMs = 3000;
    metrics.base.outside.processes[0].rssMb = rssMb;
    metrics.single.outside = { processes: [{ rssMb: 80 }] };
    Object.assign(metrics.base.load.latencyMs, { mean: 3000, p50: 3000 });
  };

  test('is the limit at a sustained rate if waiting requests take much memory', () => {
    const { hypothesis } = evaluate('slow-dependency', (metrics) => waiting(metrics, 680));
    assert.match(hypothesis.sentence, /300 requests that wait for it take 600 MB/);
  });

  test('is not the limit at a sustained rate if waiting requests take little memory', () => {
    const { hypothesis } = evaluate('slow-dependency', (metrics) => waiting(metrics, 100));
    assert.equal(hypothesis, undefined);
  });
});

describe('outbound-pool of an unknown client', () => {
  const pool = (metrics, answering) => {
    const peer = { peer: '10.0.0.5:5432', sockets: 5, min: 5, max: 5, unread: 0, unsent: 0 };
    metrics.sockets.outbound = [peer];
    const [call] = metrics.base.inside.outbound;
    metrics.base.inside.outbound = [{ ...call, origin: 'tcp://db:5432', answering, answerMs: 5 }];
    metrics.responseMs = 200;
  };

  test('is the limit if all its connections wait for a response', () => {
    const { hypothesis } = evaluate('outbound-pool', (metrics) => pool(metrics, 4.9));
    assert.match(hypothesis.sentence, /98 % of them waiting/);
  });

  test('is unknown if some connections wait for no response, as requests may keep them', () => {
    const { hypothesis, why } = evaluate('outbound-pool', (metrics) => pool(metrics, 2));
    assert.equal(hypothesis, undefined);
    assert.equal(why, undefined);
  });

  test('is the limit if as many requests are served at a time as it has connections', () => {
    const lent = (unloadedLatencyMs) => (metrics) => {
      pool(metrics, 1);
      Object.assign(metrics, { throughput: 200, unloadedLatencyMs });
    };
    const { hypothesis } = evaluate('outbound-pool', lent(25));
    assert.match(
      hypothesis.sentence,
      /5 connections .* 20 % of the connections wait for a response/,
    );
    assert.match(hypothesis.remedy.change, /release the connection/);
    assert.equal(evaluate('outbound-pool', lent(80)).hypothesis, undefined);
    assert.equal(evaluate('outbound-pool', lent(10)).hypothesis, undefined);
  });

  test('that requests keep while they call another service is slowed by the delay of that call', () => {
    const { predictions } = evaluate('outbound-pool', (metrics) => {
      const [http] = metrics.base.inside.outbound;
      pool(metrics, 1);
      metrics.base.inside.outbound.push({ ...http, origin: 'http://payments:80', rate: 200 });
      Object.assign(metrics, { throughput: 200, unloadedLatencyMs: 25 });
    }).hypothesis;
    // 0.6 of three times 25 ms for each call: of a request that takes 25 ms, 25 / 70 of the throughput is left.
    const { low, high } = predictions['outbound-delay'];
    assert.ok(low < 25 / 70 && low > 0.8 * (25 / 70) && high > 1, `${low} to ${high}`);
  });

  test('is not ruled out if requests queue, have a fixed number of connections and make other calls', () => {
    const { hypothesis, why } = evaluate('outbound-pool', (metrics) => {
      const [http] = metrics.base.inside.outbound;
      pool(metrics, 1);
      metrics.base.inside.outbound.push({ ...http, origin: 'http://payments:80', rate: 200 });
      // Fewer at a time than connections, as on a busy machine.
      Object.assign(metrics, { throughput: 200, unloadedLatencyMs: 17 });
    });
    assert.deepEqual([hypothesis, why], [undefined, undefined]);
  });

  test('is ruled out if its connections are idle', () => {
    const { why } = evaluate('outbound-pool', (metrics) => {
      pool(metrics, 5);
      metrics.base.inside.outbound = [];
    });
    assert.match(why, /the 5 connections .* are idle/);
  });
});

test('serialized: where several processes serve one request at a time, what admits it is shared', () => {
  const of = (processes, permits) =>
    evaluate('serialized', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const list = Array.from({ length: processes }, (_, index) => ({
        ...process,
        pid: 100 + index,
      }));
      metrics.base.outside = { ...metrics.base.outside, processes: list };
      const pids = list.map(({ pid }) => pid);
      metrics.base.inside = { ...metrics.base.inside, pids, outbound: [] };
      Object.assign(metrics, { throughput: 200 * permits, unloadedLatencyMs: 5, responseMs: 90 });
    }).hypothesis.sentence;
  assert.match(of(2, 1), /something that the 2 processes probably share .* one request at a time/);
  assert.match(of(1, 1), /something in the service or behind it admits one request/);
  assert.match(of(2, 2), /something in the service or behind it admits about 2/);
  assert.match(of(2, 1.33), /something in the service or behind it admits one request/);
});

test('serialized: many requests at a time are a guess, which more connections must not contradict', () => {
  const more = (permits) =>
    evaluate('serialized', (metrics) => {
      metrics.base.inside = { ...metrics.base.inside, outbound: [] };
      Object.assign(metrics, { throughput: 200 * permits, unloadedLatencyMs: 5, responseMs: 90 });
    }).hypothesis.predictions['connections-x2'].high;
  assert.ok(more(15) < more(1), `${more(15)}, ${more(1)}`);
});

test('serialized: a single connection that always waits for a response is named', () => {
  const { hypothesis } = evaluate('serialized', (metrics) => {
    const [call] = metrics.base.inside.outbound;
    metrics.base.inside.outbound = [
      { ...call, origin: 'tcp://store:6400', answering: 0.9, answerMs: 8 },
    ];
    metrics.sockets.outbound = [
      { peer: '10.0.0.5:6400', sockets: 1, min: 1, max: 1, unread: 0, unsent: 0 },
    ];
    Object.assign(metrics, { unloadedLatencyMs: 1, responseMs: 50, throughput: 1000 });
  });
  assert.match(
    hypothesis.remedy.change,
    /^the only connection to tcp:\/\/store:6400 waits .* 90 %/,
  );
});

test("serialized: a busy thread other than the loop's is the cause if each serves one request at a time", () => {
  const said = (unloadedLatencyMs) =>
    evaluate('serialized', (metrics) => {
      Object.assign(metrics.base.outside.processes[0].others[0], { run: 0.98 });
      Object.assign(metrics, { unloadedLatencyMs, responseMs: 200, throughput: 160 });
    });
  const { hypothesis } = said(6);
  assert.match(hypothesis.sentence, /^a thread .* 98 % busy .*: it serves requests one at a time/);
  assert.match(hypothesis.remedy.change, /^more such threads/);
  // Something else admits ten at a time.
  assert.match(said(60).why, /98 % busy/);
});

test("serialized: it is ruled out if the server's threads use all cores", () => {
  const computing = (server) =>
    evaluate('serialized', (metrics) => {
      Object.assign(metrics, { unloadedLatencyMs: 7, responseMs: 27, throughput: 290 });
      Object.assign(metrics.base.outside.cpu, { server, cores: 2 });
    });
  assert.ok(computing(0.5).hypothesis);
  assert.match(computing(1.9).why, /^the server's threads use 1.9 of 2 cores/);
});

test('serialized: it is ruled out if other programs use all cores that the server leaves', () => {
  const use = (others, idle) =>
    evaluate('serialized', (metrics) => {
      Object.assign(metrics, { throughput: 10, responseMs: 2000, unloadedLatencyMs: 100 });
      metrics.base.inside = { ...metrics.base.inside, outbound: [] };
      Object.assign(metrics.machine.cpu, { others, idle });
    });
  assert.match(use(3.2, 0.2).why, /only 0.20 of 4 cores are idle, and other programs use 3.2/);
  assert.notEqual(use(0.4, 3).hypothesis, undefined);
});

describe('the next limit after a larger pool', () => {
  const next = (change) => {
    const { hypothesis } = evaluate('outbound-pool', (metrics) => {
      const [call] = metrics.base.inside.outbound;
      Object.assign(call, {
        waiting: 40,
        answering: 5,
        answerMs: 5,
        answerP50Ms: 5,
        maxSockets: 5,
      });
      change(metrics);
    });
    return hypothesis.remedy.nextLimit;
  };

  test('is the loop if it has time for fewer requests than the pool admits', () => {
    // 0.3 ms of CPU per request: 3333 req/s; 20 sockets give 4000.
    assert.equal(
      next((metrics) => Object.assign(metrics, { maxConcurrency: 50, unloadedLatencyMs: 5 })),
      'event-loop-cpu',
    );
  });

  test('is the number of requests in flight if the loop has time', () => {
    assert.equal(
      next((metrics) => Object.assign(metrics, { maxConcurrency: 10, unloadedLatencyMs: 5 })),
      'too-few-connections',
    );
  });

  test('is the pool again if requests and loop could use more', () => {
    assert.equal(
      next((metrics) =>
        Object.assign(metrics, { maxConcurrency: 50, unloadedLatencyMs: 5, throughput: 300 }),
      ),
      'outbound-pool',
    );
  });

  test('is not the number of requests in flight if the load has a rate', () => {
    const overload = { rate: 2000, answered: 1000 };
    const some = { maxConcurrency: 10, unloadedLatencyMs: 5 };
    assert.equal(
      next((metrics) => Object.assign(metrics, some, { overload })),
      'outbound-pool',
    );
  });

  test('is the pool if no other capacity is known', () => {
    const blind = (metrics) => {
      metrics.base.outside = null;
      Object.assign(metrics, { maxConcurrency: 10, unloadedLatencyMs: null });
    };
    assert.equal(next(blind), 'outbound-pool');
  });

  test('is the dependency if it responds slower under load already', () => {
    const slower = (metrics) => {
      metrics.single.inside = structuredClone(metrics.base.inside);
      metrics.single.inside.outbound[0].answerP50Ms = 1;
    };
    assert.equal(next(slower), 'saturated-dependency');
  });
});

describe('the thread pool', () => {
  /** 100 requests per second, 20 in flight, each of which waits 40 ms on one of four threads. */
  const full = (metrics) => {
    Object.assign(metrics, {
      throughput: 100,
      maxConcurrency: 20,
      responseMs: 200,
      unloadedLatencyMs: 41,
    });
    metrics.base.throughput = 100;
    metrics.base.inside = { ...metrics.base.inside, poolMs: { mean: 160, max: 200 } };
    Object.assign(metrics.loop, { busy: 0.1, run: 0.1, busyMs: 1, cpuMs: 1 });
    Object.assign(metrics.base.outside.processes[0].main, { run: 0.1 });
  };
  const suspected = (change = () => {}) =>
    evaluate('threadpool', (metrics) => {
      full(metrics);
      change(metrics);
    }).hypothesis;
  const gain = (change) => suspected(change).remedy.predictedThroughput;

  test('yields four times as many waiting jobs with four times the threads', () => {
    const { low, high } = gain();
    assert.ok(low < 400 && 400 < high && high < 1.4 * low, `${low} to ${high}`);
  });

  test('yields no more than the requests in flight ask for', () => {
    // 10 of 41 ms each.
    const { low, high } = gain((metrics) => Object.assign(metrics, { maxConcurrency: 10 }));
    assert.ok(low < 244 && 244 < high && high < 290, `${low} to ${high}`);
  });

  test('has jobs that wait longer with twice the requests, and the more so the fewer of them wait', () => {
    const wait = (change) => suspected(change).predictions['pool-wait-connections-x2'];
    // Of 20 requests 16 wait, and then 36: 2.25 times as long. Of 400 nearly all: twice as long.
    const some = wait();
    assert.ok(some.low < 2.25 && 2.25 < some.high && some.high < 3, `${some.high}`);
    const many = wait((metrics) => {
      Object.assign(metrics, { maxConcurrency: 400 });
      metrics.base.inside.poolMs.mean = 3900;
    });
    assert.ok(many.low < 2 && 2 < many.high && many.high < 2.6, `${many.high}`);
    // Of eight requests four wait, and then twelve: three times as long.
    const few = wait((metrics) => {
      Object.assign(metrics, {
        maxConcurrency: 8,
        throughput: 290,
        responseMs: 27,
        unloadedLatencyMs: 7,
      });
      metrics.base.inside.poolMs.mean = 13.7;
    });
    assert.ok(few.low < 3 && 3 < few.high && few.high < 4, `${few.high}`);
    // Six of 20 requests wait at a time, as the others are between two jobs: 4.3 times as long.
    const part = wait((metrics) => {
      metrics.base.inside.poolMs.mean = 60;
    });
    assert.ok(part.high > 4.3, `${part.high}`);
  });

  test('counts once per process', () => {
    // Two processes have eight threads: a job takes 80 ms, of which 20 requests want 247 a second.
    const { low, high } = gain((metrics) => {
      const { inside, outside } = metrics.base;
      const [one] = outside.processes;
      outside.processes.push({ ...one, pid: 200, main: { ...one.main, pid: 200 } });
      inside.pids = [100, 200];
      metrics.unloadedLatencyMs = 81;
    });
    assert.ok(low < 247 && 247 < high && high < 300, `${low} to ${high}`);
  });

  test('of several processes that compute shares the cores among all threads', () => {
    // Four processes have 16 threads, each of which uses half a core of 16; alone they could have all.
    const { arithmetic, remedy } = suspected((metrics) => {
      const { inside, outside } = metrics.base;
      const [one] = outside.processes;
      outside.processes = [100, 200, 300, 400].map((pid) => ({
        ...one,
        pid,
        main: { ...one.main, pid },
        others: [1, 2, 3, 4].map((tid) => ({ ...one.main, pid, tid: pid + tid, run: 0.5 })),
      }));
      inside.pids = [100, 200, 300, 400];
      Object.assign(outside.cpu, { cores: 16, server: 8.4, idle: 7.4 });
      Object.assign(metrics, { maxConcurrency: 100 });
      metrics.unloadedLatencyMs = 10;
    });
    assert.match(arithmetic[0], /^16 threads/);
    assert.match(arithmetic[1], /8.00 of 16 cores: a larger pool yields at most x 1.9/);
    assert.ok(remedy.predictedThroughput.high < 210);
  });

  test('has the size that libuv reads from its variable', () => {
    const threads = (threadPoolSize) => {
      const metrics = structuredClone(buildHealthyMetrics());
      metrics.base.inside.threadPoolSize = threadPoolSize;
      return readPoolSize(metrics);
    };
    const values = [null, '', '0', 'many', '8', ' 16 ', '12 threads', '4096'];
    assert.deepEqual(values.map(threads), [4, 1, 1, 1, 8, 16, 12, 1024]);
  });

  test('is not the only thing that a request waits for', () => {
    // Alone it takes 240 ms: 20 / 240 ms is less than there is.
    const { low, high } = gain((metrics) => Object.assign(metrics, { unloadedLatencyMs: 240 }));
    assert.deepEqual([low, high], [100, 100]);
  });

  test("has the same lower end in the experiment's prediction as in the remedy's", () => {
    const { predictions, remedy } = suspected((metrics) =>
      Object.assign(metrics, { unloadedLatencyMs: 180 }),
    );
    const { low } = remedy.predictedThroughput;
    assert.ok(low <= 101 && predictions['thread-pool-x4'].low <= low / 100, `${low}`);
    assert.equal(suspected().predictions['thread-pool-x4'].low, 1.5);
  });

  test('may run several jobs of one request in parallel', () => {
    // 25 requests a second with four jobs of 40 ms at once each: 16 threads take 100 a second.
    const { low, high } = gain((metrics) => {
      Object.assign(metrics, { throughput: 25, maxConcurrency: 10, unloadedLatencyMs: 41 });
      metrics.base.throughput = 25;
    });
    assert.ok(low < 100 && 100 < high, `${low} to ${high}`);
  });
});

describe('slow-dependency with a heavy tail', () => {
  const route = { route: 'GET /', rate: 1000, handlerP99Ms: 100, syncMs: 0.1, syncMaxMs: 1 };
  const tail = (metrics, { routes, p50, p99 }) => {
    Object.assign(metrics.base.load.latencyMs, { mean: 30, p50: 2 });
    const [call] = metrics.base.inside.outbound;
    metrics.base.inside.outbound = [
      { ...call, answerP50Ms: p50, answerP99Ms: p99, answerSpread: 8 },
    ];
    metrics.base.inside.routes = routes;
  };

  test('is the limit if a few responses of one route take far longer than the others', () => {
    const { hypothesis } = evaluate('slow-dependency', (metrics) =>
      tail(metrics, { routes: [{ ...route, handlerMs: 30, handlerP50Ms: 2 }], p50: 2, p99: 900 }),
    );
    assert.match(hypothesis.sentence, /usually responds in 2.00 ms, but in 900 ms at p99/);
  });

  test('predicts a loop that was mostly idle to cost less per request without the slow responses', () => {
    const { hypothesis } = evaluate('slow-dependency', (metrics) => {
      tail(metrics, { routes: [{ ...route, handlerMs: 30, handlerP50Ms: 2 }], p50: 2, p99: 900 });
      // 250/s of 1.2 ms each, which were 833/s; the requests in flight ask for more.
      metrics.base.outside.processes[0].main = {
        ...metrics.base.outside.processes[0].main,
        run: 0.3,
      };
      metrics.base.throughput = 250;
      Object.assign(metrics, { throughput: 250, maxConcurrency: 1000 });
    });
    const { low, high } = hypothesis.predictions['client-timeout'];
    assert.ok(low < 1.7 && high > 5.5, `${low} to ${high}`);
  });

  test('is ruled out for a mix of fast and slow routes', () => {
    const { hypothesis, why } = evaluate('slow-dependency', (metrics) =>
      tail(metrics, {
        routes: [
          { ...route, rate: 700, handlerMs: 2.1, handlerP50Ms: 2 },
          { ...route, route: 'GET /report', rate: 300, handlerMs: 101, handlerP50Ms: 100 },
        ],
        p50: 2,
        p99: 100,
      }),
    );
    assert.equal(hypothesis, undefined);
    assert.match(why, /no rare slow responses within a route/);
  });

  test('is ruled out if the calls take similar times, whatever the requests do', () => {
    const { hypothesis } = evaluate('slow-dependency', (metrics) =>
      tail(metrics, { routes: [{ ...route, handlerMs: 30, handlerP50Ms: 2 }], p50: 50, p99: 51 }),
    );
    assert.equal(hypothesis, undefined);
  });
});

describe('saturated-dependency', () => {
  const slower = (metrics, waiting) => {
    const [call] = metrics.base.inside.outbound;
    const outbound = [{ ...call, answerMs: 100, answerP50Ms: 100, waiting }];
    metrics.single.inside = {
      ...metrics.single.inside,
      outbound: [{ ...call, answerMs: 10, answerP50Ms: 10 }],
    };
    metrics.base.inside = { ...metrics.base.inside, outbound };
  };

  test('predicts longer response times with more connections', () => {
    const { hypothesis } = evaluate('saturated-dependency', (metrics) => slower(metrics, 0));
    assert.ok(hypothesis.predictions['dependency-time-connections-x2'].low > 1);
  });

  test('predicts a larger ratio if fewer requests wait for it now', () => {
    const wait = (answering) => {
      const { hypothesis } = evaluate('saturated-dependency', (metrics) => {
        slower(metrics, 0);
        Object.assign(metrics.base.inside.outbound[0], { answering });
      });
      return hypothesis.predictions['dependency-time-connections-x2'];
    };
    // Of 50 requests all, and then 100: twice as long. Of 50 half, and then 75: three times.
    assert.ok(wait(50).low < 2 && 2 < wait(50).high && wait(50).high < 3);
    assert.ok(wait(25).low < 3 && 3 < wait(25).high && wait(25).high < 4);
  });

  test('predicts nothing behind a full pool, which admits no more calls', () => {
    const { hypothesis } = evaluate('saturated-dependency', (metrics) => slower(metrics, 30));
    assert.equal(hypothesis.predictions['dependency-time-connections-x2'], undefined);
  });
});

describe('requests that wait while nothing that is observed is busy', () => {
  /** 20 requests in flight, 48 answered per second, each of which takes 1.8 ms alone. */
  const wait = (limit, connections) =>
    evaluate(limit, (metrics) => {
      const call = { ...metrics.base.inside.outbound[0], origin: 'tcp://127.0.0.1:5432' };
      Object.assign(call, { rate: 190, answering: 0.2, answerMs: 0.6, answerP50Ms: 0.6 });
      metrics.base.inside = { ...metrics.base.inside, outbound: [call] };
      const group = { sockets: connections, min: connections, max: connections };
      metrics.sockets = {
        ...metrics.sockets,
        outbound: [{ peer: '127.0.0.1:5432', unread: 0, unsent: 0, ...group }],
      };
      Object.assign(metrics, { throughput: 48, unloadedLatencyMs: 1.8, responseMs: 416 });
      Object.assign(metrics, { inFlight: 20, maxConcurrency: 20 });
    }).hypothesis;

  test('are not said to be admitted one at a time', () => {
    const { sentence, weight } = wait('serialized', 1);
    assert.match(sentence, /wait while nothing that is observed is busy: 48 req\/s .* 1.80 ms/);
    assert.ok(weight < 0.65);
  });

  test('may hold the connections of a pool that are all open and idle', () => {
    const { sentence, weight } = wait('outbound-pool', 5);
    assert.match(sentence, /pool of 5 connections .* 96 % idle/);
    assert.ok(weight > wait('serialized', 5).weight);
    assert.equal(wait('outbound-pool', 1), undefined);
  });
});

test('a busy thread that computes as much per request as for a single one serves the requests', () => {
  const worker = (aloneRun, { name = 'WorkerThread', idleThreadShare = 0.99 } = {}) =>
    evaluate('serialized', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const thread = (run) => [{ ...process.main, tid: 900, name, run, queued: 0 }];
      const outside = (block, run) => ({
        ...block.outside,
        processes: [{ ...process, others: thread(run) }],
      });
      metrics.base.outside = outside(metrics.base, 0.99);
      metrics.single.outside = outside(metrics.single, aloneRun);
      metrics.base.inside = { ...metrics.base.inside, outbound: [] };
      // 180 requests per second of 5.5 ms of that thread each; alone 123 per second, in 8.1 ms.
      Object.assign(metrics, { throughput: 180, unloadedLatencyMs: 9, responseMs: 111 });
      metrics.single.throughput = 123;
      metrics.idleThreadShare = idleThreadShare;
    });
  assert.match(worker(0.68).hypothesis.sentence, /it serves requests one at a time/);
  assert.match(
    worker(0.68, { name: 'libuv-worker' }).why,
    /a thread of the thread pool is 99 % busy/,
  );
  // A thread that is as busy with a single request may do something else, unless it idles without requests.
  assert.match(worker(0.99).why, /a thread other than the event loop's/);
  const { hypothesis } = worker(0.99, { idleThreadShare: 0.02 });
  assert.match(hypothesis.sentence, /it serves requests one at a time/);
});

test('a pool of which one thread computes leaves cores to a second process, as others give them up', () => {
  const gain = (idle, others) =>
    evaluate('threadpool', (metrics) => {
      const [process] = metrics.base.outside.processes;
      const threads = [0.9, 0, 0, 0].map((run, index) => ({
        ...process.main,
        tid: 900 + index,
        run,
      }));
      const cpu = { ...metrics.base.outside.cpu, cores: 2, server: 1, idle, others };
      metrics.base.outside = {
        ...metrics.base.outside,
        cpu,
        processes: [{ ...process, others: threads }],
      };
      metrics.machine.cpu = { ...metrics.machine.cpu, idle, others };
      const inside = { ...metrics.base.inside, poolMs: { mean: 40, max: 90 } };
      metrics.base.inside = inside;
      metrics.single.inside = { ...inside, poolMs: { mean: 0, max: 0 } };
    }).hypothesis.predictions['second-process'].high;
  assert.ok(gain(0.9, 0.1) > 2);
  assert.ok(gain(0, 1) > 2);
  assert.ok(gain(0, 0) < 1.2);
});
