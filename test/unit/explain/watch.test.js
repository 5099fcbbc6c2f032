// What a watch says of a window: all limits, without a load of our own.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateHypotheses } from '#internal/explain/limits/evaluate.js';
import { LIMITS } from '#internal/explain/limits/limits.js';
import { deriveMetrics } from '#internal/explain/metrics/derive.js';
import { findSteadyGrowth } from '#internal/explain/watch/heap-growth.js';
import { judgeCondition, judgeWindow } from '#internal/explain/watch/judge.js';
import { WatchMemory } from '#internal/explain/watch/memory.js';
import { buildObservedLoad, toDurations } from '#internal/explain/watch/observed-load.js';
import { isSimilarLoad, reportWindow } from '#internal/explain/watch/report.js';
import { parseUntil } from '#internal/explain/watch/until.js';
import { findBucket } from '#internal/statistics/histogram.cjs';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

const HISTORY = {
  retained: null,
  exhausted: [],
  costOverTime: [],
  secondProcess: null,
  afterRestart: null,
};

/** A window of 5 s in which each of 1000 requests per second takes the same time. */
function buildWindow(inside = {}, outside = {}, sockets = {}) {
  const { base } = buildHealthyMetrics();
  const ms = inside.handlerMs ?? 50;
  const view = {
    ...base.inside,
    ended: { all: 5000, aborted: 0, alone: 0, errorStatuses: {} },
    handlerTimes: { [findBucket(ms)]: 5000 },
    ...inside,
  };
  const group = { sockets: 50, min: 50, max: 50, unread: 0, unsent: 0 };
  const load = buildObservedLoad({
    inside: view,
    startedAt: new Date(0),
    durationMs: 5000,
    connections: 50,
    unread: 0,
  });
  return {
    load,
    durations: toDurations(view),
    throughput: load.throughput.mean,
    outside: { ...base.outside, ...outside },
    inside: view,
    sockets: { ...base.sockets, server: group, ...sockets },
  };
}

function toMetrics(base, single = null) {
  return deriveMetrics({
    isWatched: true,
    base,
    single,
    sample: null,
    unknownPath: null,
    idleShare: null,
    idleThreadShare: null,
    idleOthers: null,
    identityBytes: null,
    overload: null,
  });
}

const { base: HEALTHY } = buildHealthyMetrics();
const [PROCESS] = HEALTHY.outside.processes;
const busy = (run) => ({
  processes: [{ ...PROCESS, main: { ...PROCESS.main, run } }],
  cpu: { ...HEALTHY.outside.cpu, server: run },
});
const CALL = HEALTHY.inside.outbound[0];
const quiet = buildWindow({
  inFlight: 0.1,
  handlerMs: 5,
  ended: { all: 100, aborted: 0, alone: 90, errorStatuses: {} },
  outbound: [{ ...CALL, rate: 20, answering: 0.1, answerMs: 4, answerP50Ms: 4 }],
});

/** Windows that are not healthy, each in its way. */
const WINDOWS = {
  healthy: buildWindow(),
  'a busy loop': buildWindow({ utilization: 0.99, busyLoops: 0.99 }, busy(0.98)),
  garbage: buildWindow(
    { utilization: 0.99, gc: { young: 0.4, old: 0.3, other: 0, longestMs: 90 } },
    busy(0.98),
  ),
  'a full pool': buildWindow({
    outbound: [
      {
        ...CALL,
        maxSockets: 5,
        waiting: 40,
        waitMs: 40,
        answering: 5,
        answerMs: 5,
        answerP50Ms: 5,
      },
    ],
  }),
  'a full thread pool': buildWindow({
    poolMs: { mean: 40, max: 90 },
    resources: { FSReqCallback: 30 },
    outbound: [],
  }),
  'a pool thread without a core': buildWindow({ poolMs: { mean: 40, max: 90 }, outbound: [] }),
  'long tasks': buildWindow({
    stalls: {
      ...{ share: 0.3, count: 20, longestMs: 120, residualMs: 30 },
      byCause: [{ cause: 'GET /report', ms: 1500, count: 20 }],
    },
    outbound: [],
  }),
  'a slow tail': buildWindow({
    outbound: [{ ...CALL, answerP50Ms: 5, answerP99Ms: 900, answerSpread: 20 }],
    handlerMs: 50,
    handlerTimes: { [findBucket(5)]: 4700, [findBucket(900)]: 300 },
  }),
  errors: buildWindow({
    ended: { all: 5000, aborted: 10, alone: 0, errorStatuses: { 503: 2000, 404: 100 } },
  }),
  logs: buildWindow(
    { utilization: 0.99, output: { writes: 9000, bytes: 1e6, share: 0.4 } },
    busy(0.98),
  ),
  files: buildWindow(
    { utilization: 0.99, files: { writes: 1000, bytes: 1e6, flushes: 1000, share: 0.6 } },
    busy(0.4),
  ),
  'a throttled process': buildWindow(
    {},
    { quota: { cores: 0.5, throttledPeriods: 0.9, throttledShare: 0.5 } },
  ),
  'a noisy machine': buildWindow(
    { utilization: 0.99 },
    {
      processes: [{ ...PROCESS, main: { ...PROCESS.main, run: 0.4, queued: 0.6 } }],
      cpu: { ...HEALTHY.outside.cpu, others: 3.5, idle: 0 },
    },
  ),
  'no descriptors': buildWindow({}, { processes: [{ ...PROCESS, openFiles: 1024 }] }),
  'no accept queue': buildWindow(
    {},
    { network: { ...HEALTHY.outside.network, listenOverflows: 9 } },
    { listen: { waiting: 512, backlog: 511 } },
  ),
  'a full link': buildWindow({}, { linkShare: 0.99 }),
  'no requests': buildWindow({
    ...{ finished: 0, started: 0, inFlight: 0, handlerMs: null, handlerTimes: {}, outbound: [] },
    ended: { all: 0, aborted: 0, alone: 0, errorStatuses: {} },
  }),
  'no answer': buildWindow({
    ...{ finished: 0, inFlight: 50, handlerMs: null, handlerTimes: {} },
    ended: { all: 0, aborted: 0, alone: 0, errorStatuses: {} },
  }),
};

const texts = (value) =>
  typeof value === 'string'
    ? [value]
    : Object.values(value ?? {}).flatMap((one) => (typeof one === 'number' ? [] : texts(one)));

describe('limits in a watch', () => {
  for (const [name, window] of Object.entries(WINDOWS)) {
    for (const [how, single] of [
      ['', null],
      [', after a quiet time', quiet],
    ]) {
      test(`no limit needs what is not seen: ${name}${how}`, () => {
        const metrics = toMetrics(window, single);
        const { hypotheses } = evaluateHypotheses(metrics, HISTORY);
        for (const { limit, sentence, arithmetic } of hypotheses) {
          assert.equal(LIMITS[limit].needsOwnLoad, undefined, limit);
          const all = [sentence, ...arithmetic].join('\n');
          assert.doesNotMatch(all, /NaN|Infinity|undefined|null|load generator/, all);
        }
        const judgement = judgeWindow(metrics, HISTORY);
        assert.notEqual(judgement.verdict.status, 'confirmed');
        assert.equal(judgement.verdict.status === 'likely', judgement.verdict.limit !== null);
        assert.equal(judgement.confirmation === null, judgement.verdict.limit === null);
        assert.doesNotMatch(texts(judgement).join('\n'), /NaN|Infinity|undefined/);
      });
    }
  }

  const expected = {
    'a busy loop': 'event-loop-cpu',
    garbage: 'gc-young',
    'a full pool': 'outbound-pool',
    'a full thread pool': 'threadpool',
    'long tasks': 'event-loop-blocked',
    'a slow tail': 'slow-dependency',
    errors: 'errors',
    logs: 'logging',
    files: 'synchronous-writes',
    'a throttled process': 'cpu-quota',
    'a noisy machine': 'noisy-machine',
    'no descriptors': 'fd-limit',
    'no accept queue': 'listen-backlog',
    'a full link': 'bandwidth',
    'no requests': null,
    'no answer': null,
  };
  for (const [name, limit] of Object.entries(expected)) {
    test(`${name}: ${limit}`, () => {
      const { verdict } = judgeWindow(toMetrics(WINDOWS[name], quiet), HISTORY);
      assert.equal(verdict.limit, limit, verdict.sentence);
    });
  }

  test('a pool whose thread has no core is not full', () => {
    const metrics = toMetrics(WINDOWS['a pool thread without a core']);
    const { ruledOut } = evaluateHypotheses(metrics, HISTORY);
    assert.match(ruledOut.find(({ limit }) => limit === 'threadpool').why, /no job .* was seen/);
  });

  test('without a quiet time it is not known whether requests queue', () => {
    const window = buildWindow({ outbound: [] });
    const { status, sentence } = judgeWindow(toMetrics(window), HISTORY).verdict;
    assert.equal(status, 'cannot-tell');
    assert.match(sentence, /it is not known whether they queue/);
    const same = buildWindow({ ...quiet.inside, inFlight: 5, outbound: [] });
    assert.equal(judgeWindow(toMetrics(same, same), HISTORY).verdict.status, 'no-limit');
  });

  test('where most of the waiting requests are in a known queue, that is the limit', () => {
    const metrics = toMetrics(buildWindow({ outbound: [] }));
    const judge = (queue, part) => {
      const of = (queue, ms) => ({ queue, ms, route: 'GET /', source: null, frames: [] });
      /** @type {any} */
      const waits = { paths: [of(queue, 100 * part), of(null, 100 * (1 - part))], cost: null };
      return judgeWindow(metrics, HISTORY, waits).verdict;
    };
    const pool = { kind: 'pool', name: 'pool of pg' };
    const { limit, status, sentence } = judge(pool, 0.68);
    assert.deepEqual([limit, status], ['outbound-pool', 'likely']);
    assert.equal(
      sentence,
      'requests wait for a connection (pool of pg): 68 % of the waiting requests are in that queue.',
    );
    for (const kind of ['limiter', 'lock']) {
      assert.equal(judge({ kind, name: kind }, 0.93).limit, 'serialized');
    }
    assert.equal(judge(pool, 0.4).status, 'cannot-tell');
    assert.equal(judge(null, 0.9).status, 'cannot-tell');
  });

  test('with less than a request in flight nothing limits the throughput', () => {
    const quick = buildWindow({ ...quiet.inside, inFlight: 0.05, outbound: [] });
    const metrics = { ...toMetrics(quick, quick), responseMs: 5 * quiet.inside.handlerMs };
    assert.equal(judgeWindow(metrics, HISTORY).verdict.limit, null);
  });

  test('a condition that a few requests fulfil is not called no limit', () => {
    const same = buildWindow({ ...quiet.inside, inFlight: 5, outbound: [] });
    const { verdict } = judgeWindow(toMetrics(same, same), HISTORY);
    const slow = parseUntil('p99>50ms', 'until');
    const { status, sentence } = judgeCondition(verdict, slow);
    assert.equal(status, 'cannot-tell');
    assert.match(sentence, /^cannot tell why p99>50ms; on average, nothing limits the service/);
    assert.equal(judgeCondition(verdict, parseUntil('rate<10', 'until')), verdict);
    const limited = { ...verdict, status: /** @type {const} */ ('likely') };
    assert.equal(judgeCondition(limited, slow), limited);
  });
});

describe('what several requests at a time tell', () => {
  const judge = (permits, inFlight) => {
    const window = buildWindow({ inFlight, handlerMs: inFlight, outbound: [] });
    const alone = buildWindow({ ...quiet.inside, outbound: [] });
    const metrics = toMetrics(window, alone);
    const unloadedLatencyMs = (1000 * permits) / metrics.throughput;
    const known = { ...metrics, unloadedLatencyMs, responseMs: 100 * unloadedLatencyMs };
    const { hypotheses, ruledOut } = evaluateHypotheses(known, HISTORY);
    return {
      found: hypotheses.find(({ limit }) => limit === 'serialized'),
      why: ruledOut.find(({ limit }) => limit === 'serialized')?.why,
    };
  };

  test('one at a time is a lock, and many are no limit without an experiment', () => {
    assert.ok(judge(1, 50).found);
    assert.match(judge(4.1, 50).why, /^about 4\.1 requests are served at a time: whether more/);
  });

  test('of requests that share connections one may wait for the response of another', () => {
    assert.match(judge(1, 200).why, /^200 requests share 50 connections, and may wait for each/);
  });
});

describe('a window without a request', () => {
  /** @param {import('#internal/explain/watch/unseen-requests.js').ConnectedProcess[]} connected */
  const report = (
    connected,
    /** @type {Record<string, any>} */ { run = 0, exhausted = [], ...service } = {},
  ) => {
    const window = { ...buildWindow({}, busy(run)), inside: null };
    const { verdict, processes } = reportWindow(
      /** @type {any} */ (window),
      new WatchMemory(),
      exhausted,
      { profile: null, waits: null },
      { connected, isNode: () => true, port: null, listeningPorts: [], ...service },
    );
    return { ...verdict, isObserved: processes[0].isObserved };
  };
  const { pid } = PROCESS;

  test('of a process that is not seen from inside says so', () => {
    const { status, sentence, isObserved } = report([], { run: 0.9 });
    assert.deepEqual([status, isObserved], ['cannot-tell', false]);
    assert.match(sentence, /the requests are not observed.* so its event loop is probably/);
  });

  test('of an idle process is no limit', () => {
    const { status, sentence, isObserved } = report([{ pid, serving: false }]);
    assert.deepEqual([status, isObserved], ['no-limit', true]);
    assert.match(sentence, /^no limit is seen: no request came to node:http/);
  });

  test('of a busy program that is not Node.js has no event loop', () => {
    const { sentence } = report([], { run: 0.9, isNode: () => false });
    assert.doesNotMatch(sentence, /event loop/);
  });

  test('names the port that counts, and whether the service listens on it', () => {
    const connected = [{ pid, serving: false }];
    const other = report(connected, { port: 443, listeningPorts: [3000, 3000] });
    assert.equal(other.status, 'cannot-tell');
    assert.match(other.sentence, /only requests to port 443 count.* listens on 3000\.$/);
    const own = report(connected, { port: 3000, listeningPorts: [3000] });
    assert.match(own.sentence, /^no limit is seen: no request came to port 3000 of node:http/);
  });

  test('of a process that served before is a blocked loop', () => {
    const { status, sentence, isObserved } = report([{ pid, serving: true }], { run: 0.97 });
    assert.deepEqual([status, isObserved], ['cannot-tell', true]);
    assert.match(sentence, /its event loop is blocked \(its main thread is on a core 97 %/);
  });

  test('beside a busy process that is not seen says nothing of requests', () => {
    const { sentence } = report([{ pid: pid + 1, serving: false }], { run: 0.4 });
    assert.match(sentence, /the requests are not observed/);
  });

  test('after a process ended with a full heap names that', () => {
    const exhausted = [{ pid: 9, heapUsedMb: 180, heapLimitMb: 190, requests: 1 }];
    const { limit, status, sentence } = report([{ pid, serving: false }], { exhausted });
    assert.deepEqual([limit, status], ['memory-growth', 'likely']);
    assert.match(sentence, /process 9 has ended with 180 MB in a heap of 190 MB/);
    assert.equal(report([], { exhausted }).limit, 'memory-growth');
  });

  test('waits count for a window under about the load under which they were observed', () => {
    const window = buildWindow({ inFlight: 20 });
    const fits = [5, 11, 20, 39, 41].filter((other) => isSimilarLoad(window, other));
    assert.deepEqual(fits, [11, 20, 39]);
  });
});

/** The heap of processes that have collected it. */
function heapOf(collectedPids, afterOldMb) {
  return { usedMb: 200, limitMb: 2000, afterOldMb, externalMb: 0, collectedPids };
}

describe('the memory of a watch', () => {
  test('keeps a window of single requests', () => {
    const memory = new WatchMemory();
    memory.add(buildWindow());
    assert.equal(memory.quietest, null);
    memory.add(quiet);
    assert.equal(memory.quietest, quiet);
    for (let index = 0; index < 2000; index++) memory.add(buildWindow());
    assert.equal(memory.quietest, quiet);
  });

  test('tells that the heap has grown before it knows whether that goes on', () => {
    const memory = new WatchMemory();
    for (const afterOldMb of [40, 160]) {
      memory.add(buildWindow({ heap: heapOf([1], afterOldMb) }));
    }
    assert.deepEqual(memory.growing, { fromBytes: 40e6, toBytes: 160e6 });
    const same = buildWindow({ ...quiet.inside, outbound: [] });
    const { verdict } = judgeWindow(toMetrics(same, same), HISTORY, null, memory.growing);
    assert.equal(verdict.status, 'cannot-tell');
    assert.match(verdict.sentence, /has grown from 40\.0 MB to 160 MB/);
  });

  test('forgets the heaps of other processes', () => {
    const memory = new WatchMemory();
    const add = (pids, afterOldMb) => memory.add(buildWindow({ heap: heapOf(pids, afterOldMb) }));
    add([1], 40);
    add([1, 2], 160);
    assert.equal(memory.growing, null);
    add([2, 1], 200);
    assert.deepEqual(memory.growing, { fromBytes: 160e6, toBytes: 200e6 });
  });

  test('takes a heap for growing only if it grows steadily', () => {
    const heaps = (bytesAt) =>
      Array.from({ length: 12 }, (_, index) => ({
        requests: index * 1000,
        bytes: bytesAt(index) * 1e6,
      }));
    const grown = (bytesAt) => {
      const { beforeBytes, afterBytes } = findSteadyGrowth(heaps(bytesAt));
      return afterBytes - beforeBytes;
    };
    assert.ok(grown((index) => 20 + 5 * index) > 30e6);
    assert.equal(
      grown((index) => 20 + 40 * (1 - Math.exp(-index / 2))),
      0,
      'a cache fills',
    );
    assert.equal(
      grown((index) => 20 + (index % 2) * 10),
      0,
    );
    assert.equal(findSteadyGrowth(heaps((index) => index).slice(0, 3)), null);
  });
});

describe('a condition to wait for', () => {
  const { load } = buildWindow({ handlerMs: 50 });
  const holds = (text) => parseUntil(text, '--until').findValue(load) !== null;

  test('is the opposite of what must hold', () => {
    assert.equal(holds('p99>40ms'), true);
    assert.equal(holds('p99 >= 1s'), false);
    assert.equal(holds('mean>49ms'), true);
    assert.equal(holds('errors>1%'), false);
    assert.equal(holds('rate>100'), true);
    assert.equal(holds('throughput<100'), false);
    assert.equal(holds('rate<2k'), true);
  });

  test('holds of no response only if it is about their number', () => {
    const none = WINDOWS['no answer'].load;
    assert.equal(parseUntil('p99>1ms', '--until').findValue(none), null);
    assert.equal(parseUntil('errors>0', '--until').findValue(none), null);
    assert.equal(parseUntil('rate<10', '--until').findValue(none), 0);
  });

  test('is refused if it can never hold', () => {
    assert.equal(parseUntil('errors>=100%', '--until').findValue(load), null);
    for (const text of ['errors>100%', 'errors>=101%']) {
      assert.throws(() => parseUntil(text, '--until'), {
        message: `--until: at most 100% of the requests are errors (got '${text}')`,
      });
    }
  });

  test('is refused in one line', () => {
    for (const text of ['p99<500ms', 'p99>500', 'checks>1%', 'p99', '', 'errors<1%', 'foo>1']) {
      assert.throws(() => parseUntil(text, '--until'), {
        message: new RegExp(`^--until must be a condition to wait for, .* \\(got '${text}'\\)$`),
      });
    }
  });
});
