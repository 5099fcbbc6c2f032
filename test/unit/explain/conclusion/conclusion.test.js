// The conclusion: what an explanation says of the findings.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { conclude } from '#internal/explain/conclusion/conclusion.js';
import { coverVariation } from '#internal/explain/conclusion/prediction/prediction-range.js';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';
import { selectWithinTime } from '#internal/explain/experiments/selection.js';
import { detect } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

/** The range that is printed for a range of the arithmetic. */
const printed = (low, high) => coverVariation({ low, high }, 0.03);

const remedy = { change: 'do less', predictedThroughput: { low: 20, high: 10 } };

/** Measured cost of a probe that costs nothing. */
const FREE = { ratio: 1, low: 1, high: 1, pairs: 5 };

/** Draws the conclusion on one hypothesis. */
function drawConclusion({
  limit,
  experiments = [],
  rootCauseFunction = null,
  hotFunctions = [],
  dominantCall = null,
  metrics = buildHealthyMetrics(),
  probeCost = FREE,
  baselineThroughput = metrics.throughput,
  referenceThroughput = null,
  repeatedRemedy = null,
  excluded = [],
  nextLimit = null,
  evidence = [],
  predictedThroughput = remedy.predictedThroughput,
  predictions = {},
  rivals = [],
}) {
  const named = { limit, weight: 1, sentence: 'it is.', arithmetic: [], evidence, predictions };
  named.remedy = { ...remedy, predictedThroughput, nextLimit };
  const chosen = limit === null ? null : named;
  const none = { also: [], rivals, hiddenBy: null };
  const finding = { status: chosen ? 'likely' : 'cannot-tell', chosen, excluded, ...none };
  const found = {
    hypotheses: chosen ? [chosen] : [],
    ruledOut: [],
    capacityCurve: [],
    skippedExperiments: [],
    noise: 0.03,
  };
  const measured = { probeCost, baselineThroughput, referenceThroughput, repeatedRemedy };
  return conclude(
    {
      ...found,
      ...measured,
      metrics: metrics,
      finding,
      experiments,
      rootCauseFunction,
      hotFunctions,
      dominantCall,
    },
    [],
  );
}

function secondProcess(ratio) {
  const measured = { ratio, low: ratio * 0.97, high: ratio * 1.03, pairs: 3 };
  return [{ name: 'second-process', metric: 'throughput', predicted: {}, otherwise: 1, measured }];
}

describe('the remedy', () => {
  test('has a predicted throughput whose lower end is below the upper one', () => {
    const { predictedThroughput } = drawConclusion({ limit: 'serialized' }).remedy;
    assert.deepEqual(predictedThroughput, printed(10, 20));
  });

  test('of a loop that stays busy does not include the cost of the probe', () => {
    const metrics = structuredClone(buildHealthyMetrics());
    const of = (
      busy,
      probeCost,
      { baselineThroughput = metrics.throughput, limit = 'many-writes' } = {},
    ) => {
      Object.assign(metrics.loop, { busy });
      const predictedThroughput = { low: 1000, high: 2000 };
      return drawConclusion({ limit, metrics, baselineThroughput, probeCost, predictedThroughput })
        .remedy.predictedThroughput;
    };
    const isAbout = (least, most, range) => {
      const { low, high } = printed(least, most);
      assert.ok(Math.abs(range.low / low - 1) < 1e-9, `${range.low} ${low}`);
      assert.ok(Math.abs(range.high / high - 1) < 1e-9, `${range.high} ${high}`);
    };
    const tenth = { ratio: 0.92, low: 0.91, high: 0.95, pairs: 3 };
    isAbout(1000, 2000, of(0.5, tenth));
    // The probe costs at least 5 %, which is more than usual; twice as much with twice the requests.
    isAbout(1000 / 0.95, 2000 / 0.9, of(1, tenth));
    // A cost that may be 0, or was not measured, counts as the typical one: 3 µs of 1 ms.
    isAbout(1000 / 0.997, 2000 / 0.994, of(1, { ratio: 0.9, low: 0.79, high: 1.02, pairs: 3 }));
    isAbout(1000 / 0.997, 2000 / 0.994, of(1, null));
    // The measured cost is less than usual, or nothing.
    isAbout(1000 / 0.999, 2000 / 0.998, of(1, { ratio: 1, low: 0.999, high: 1.001, pairs: 3 }));
    isAbout(1000, 2000, of(1, { ratio: 1.03, low: 1.01, high: 1.05, pairs: 3 }));
    // It refers to the median of all blocks, and is at most a fifth.
    isAbout(50_000 / 0.85, 100_000 / 0.8, of(1, null, { baselineThroughput: 50_000 }));
    // With more loops each of them has the same cost as before.
    isAbout(1000 / 0.95, 2000 / 0.95, of(1, tenth, { limit: 'cpu-quota' }));
    // Two processes share the requests.
    metrics.base.outside.processes.push(structuredClone(metrics.base.outside.processes[0]));
    isAbout(1000 / 0.9985, 2000 / 0.997, of(1, null));
    metrics.loop.isFromProbe = false;
    isAbout(1000, 2000, of(1, null));
  });

  test('of a busy loop names the function outside Node.js that takes most of its time', () => {
    const of = (...hotFunctions) => {
      const metrics = buildHealthyMetrics();
      Object.assign(metrics.loop, { busy: 1 });
      return drawConclusion({ limit: 'event-loop-cpu', metrics, hotFunctions }).remedy;
    };
    const node = { name: '_storeHeader', place: 'node:_http_outgoing:410', share: 0.2 };
    const writing = { name: '(writing responses)', place: '', share: 0.5 };
    const own = { name: 'render', place: 'app.js:7', share: 0.2 };
    const { change, predictedThroughput } = of(writing, node, own);
    // What takes most comes first.
    assert.match(
      change,
      /^writing responses takes 50 % of the loop's time: .*; render \(app.js:7\) takes 20 %; do that less often/,
    );
    assert.match(
      of({ ...writing, share: 0.1 }, own).change,
      /^render \(app.js:7\) takes 20 % of the loop's time; do that less often/,
    );
    assert.ok(predictedThroughput.low < 1250 && 1250 < predictedThroughput.high);
    assert.match(of(writing, node).change, /^writing responses takes 50 %/);
    assert.equal(of(node).change, 'do less');
  });

  test('of a busy loop names the call whose time is that of many functions below it', () => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1 });
    metrics.unloadedLatencyMs = null;
    const parse = { name: 'parse', place: 'node_modules/t/parser.js:7', share: 0.2 };
    const compile = { name: 'compile of t called from page', place: 'app.js:3', share: 0.8 };
    const of = (dominantCall, experiments = [], hot = parse) =>
      drawConclusion({
        limit: 'event-loop-cpu',
        metrics,
        hotFunctions: [hot],
        dominantCall,
        experiments,
      }).remedy;
    const { change, predictedThroughput } = of(compile);
    assert.match(
      change,
      /^compile of t called from page \(app.js:3\) takes 80 % .*all that it calls/,
    );
    assert.ok(predictedThroughput.low < 6000 && 6000 < predictedThroughput.high);
    // A call that takes little more than the function within says no more than that.
    assert.match(of({ ...compile, share: 0.28 }).change, /^parse /);
    // One that takes less than half of the time is predicted to yield no more than its time.
    const part = of({ ...compile, share: 0.4 }).predictedThroughput;
    assert.ok(1500 < part.high && part.high < 2600, `${part.high}`);
    // A second process that yielded less is another change, with its own prediction.
    const tried = of(compile, secondProcess(1.5));
    assert.deepEqual(tried.predictedThroughput, predictedThroughput);
    const other = tried.alternatives.find(({ change }) => change.startsWith('more processes'));
    assert.match(other.change, /: a second process yielded x 1.50/);
    assert.ok(other.predictedThroughput.low < 1500 && 1500 < other.predictedThroughput.high);
    // One that was not tried is predicted where cores are idle, and the remedy if it is expected to yield more.
    const untried = (share) =>
      drawConclusion({
        limit: 'event-loop-cpu',
        metrics,
        hotFunctions: [parse],
        dominantCall: { ...compile, share },
        predictedThroughput: { low: 1600, high: 2000 },
      }).remedy;
    assert.equal(untried(0.8).alternatives.at(-1).change, 'more processes on the idle cores');
    assert.match(untried(0.8).change, /reuse its result/);
    assert.equal(untried(0.3).alternatives, undefined);
    assert.ok(untried(0.3).predictedThroughput.high > 1900);
    // One that yielded more is the remedy.
    const more = of({ ...compile, share: 0.3 }, secondProcess(2));
    assert.equal(more.alternatives, undefined);
    assert.ok(more.predictedThroughput.low < 2000 && 2000 < more.predictedThroughput.high);
  });

  test('of a busy loop in other threads is bounded by the idle cores and the requests in flight', () => {
    const of = (idle, { share = 0.89, busyMs = 1, maxConcurrency = 32, cores = 2 } = {}) => {
      const metrics = buildHealthyMetrics();
      Object.assign(metrics.loop, { busy: 1, isFromProbe: false, busyMs });
      Object.assign(metrics.machine.cpu, { cores, server: 1, idle });
      Object.assign(metrics, { maxConcurrency, unloadedLatencyMs: 2 });
      const hotFunctions = [{ name: 'pbkdf2Sync called from login', place: 'login.js:15', share }];
      const { remedy } = drawConclusion({ limit: 'event-loop-cpu', metrics, hotFunctions });
      assert.doesNotMatch(remedy.change, /elsewhere|thread/);
      return remedy.alternatives?.find(({ change }) => change.includes('worker threads'))
        ?.predictedThroughput;
    };
    // With one idle core the loop's 1000 req/s become at most 2000, though 89 % of its time is that of the call.
    const one = of(0.95);
    assert.ok(1000 < one.low && one.low < 1500 && 1500 < one.high && one.high < 2400);
    // The asynchronous form of a call uses four threads by default; worker threads may be more.
    const many = of(7, { cores: 8 });
    assert.ok(many.low < 3000 && many.high > 5000);
    // Each of five requests in flight takes 2 ms.
    const few = of(7, { cores: 8, maxConcurrency: 5 });
    assert.ok(few.low <= 2000 && few.high <= 2500);
    // A small part of the loop's time limits it before the cores do.
    assert.ok(of(7, { cores: 8, share: 0.3, busyMs: 3 }).high < 2000);
    for (const none of [of(0.05), of(7, { busyMs: 0.1 }), of(7, { maxConcurrency: 2 })]) {
      assert.equal(none, undefined);
    }
  });

  test('of Brotli at a high level is a lower one; a cached result is another change', () => {
    const of = (encoding, server) => {
      const metrics = buildHealthyMetrics();
      metrics.sample = { ...metrics.sample, headers: { 'content-encoding': encoding } };
      Object.assign(metrics, { throughput: 100, identityBytes: 28_000 });
      metrics.base.outside = {
        ...metrics.base.outside,
        cpu: { ...metrics.base.outside.cpu, cores: 2, server },
      };
      const [tried] = secondProcess(200);
      const experiments = [{ ...tried, name: 'identity-encoding' }];
      return drawConclusion({ limit: 'compression', metrics, experiments }).remedy;
    };
    // 14 ms of CPU for each 28 kB: 2 kB per ms.
    const { predictedThroughput, alternatives } = of('br', 1.4);
    assert.ok(1000 < predictedThroughput.low && predictedThroughput.high < 7000);
    assert.match(alternatives[0].change, /compress once/);
    assert.ok(alternatives[0].predictedThroughput.high > 20_000);
    // At a usual level, and with other codings, the work has to go.
    assert.equal(of('br', 0.1).alternatives, undefined);
    assert.equal(of('gzip', 1.4).alternatives, undefined);
  });

  test('of handshakes with an RSA key has a smaller key as another change', () => {
    const of = (rsaBits, ratio) => {
      const metrics = buildHealthyMetrics();
      metrics.sample = { ...metrics.sample, rsaBits };
      const [tried] = secondProcess(ratio);
      const experiments = [{ ...tried, name: 'tls-resumption' }];
      return drawConclusion({ limit: 'tls-handshake', metrics, experiments }).remedy.alternatives;
    };
    const [{ change, predictedThroughput }] = of(4096, 2);
    assert.match(change, /P-256 in place of RSA 4096/);
    assert.ok(predictedThroughput.low < 2000 && 3000 < predictedThroughput.high);
    // Less throughput than now is not predicted.
    const { low } = of(4096, 1.15)[0].predictedThroughput;
    assert.ok(low >= 1000, `${low}`);
    assert.equal(of(4096, 1), undefined);
    assert.equal(of(null, 2), undefined);
  });

  test('of a busy loop refers to the median of all blocks, not to the first one', () => {
    const metrics = buildHealthyMetrics();
    const of = (busy) => {
      Object.assign(metrics.loop, { busy });
      const baselineThroughput = 2 * metrics.throughput;
      return drawConclusion({ limit: 'logging', metrics, baselineThroughput }).remedy
        .predictedThroughput;
    };
    assert.deepEqual(of(1), printed(20, 40));
    assert.deepEqual(of(0.5), printed(10, 20));
  });

  test('yields no more than a server that does nothing', () => {
    const { remedy, evidence } = drawConclusion({ limit: 'logging', referenceThroughput: 15 });
    assert.deepEqual(remedy.predictedThroughput, printed(10, 1.05 * 15));
    assert.ok(evidence.some(({ what, value }) => /does nothing/.test(what) && value === 15));
  });

  test('that could yield more than a server that does nothing is predicted to yield nearly as much', () => {
    const predictedThroughput = { low: 20, high: 40 };
    const under = (plan) => {
      const metrics = structuredClone(buildHealthyMetrics());
      Object.assign(metrics.base.load.plan, plan);
      return drawConclusion({
        limit: 'many-writes',
        referenceThroughput: 10,
        metrics,
        predictedThroughput,
      }).remedy.predictedThroughput;
    };
    assert.deepEqual(under({}), printed(9, 10.5));
    // The load of the reference server keeps connections and has no TLS.
    assert.deepEqual(under({ connection: 'close' }), printed(8, 10.5));
    assert.deepEqual(under({ handshake: 'full' }), printed(8, 10.5));
  });

  test('that was repeated for longer is predicted to yield what it yielded then', () => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1 });
    const of = (limit, experiment, throughput = 5000) => {
      const tried = { ...secondProcess(4)[0], name: experiment };
      const probeCost = { ratio: 0.9, low: 0.89, high: 0.91, pairs: 5 };
      return drawConclusion({
        limit,
        metrics,
        experiments: [tried],
        probeCost,
        repeatedRemedy: { experiment, throughput },
        referenceThroughput: 3000,
        predictedThroughput: { low: 1000, high: 2000 },
      });
    };
    // It is better than short blocks and the reference server, and had no probe.
    const { remedy, evidence } = of('connection-churn', 'keep-alive');
    assert.deepEqual(remedy.predictedThroughput, printed(5000 * 0.92, 5000 * 1.08));
    assert.ok(
      evidence.some(
        ({ what, value }) =>
          /^throughput of 'keep-alive', repeated for longer/.test(what) && value === 5000,
      ),
    );
    // The result of the short blocks may return.
    const less = of('connection-churn', 'keep-alive', 3000).remedy.predictedThroughput;
    assert.deepEqual(less, printed(3000 * 0.92, 4000 * 1.03));
    // The complete remedy yields at least as much as a part of it.
    const part = of('logging', 'output-discarded').remedy.predictedThroughput;
    assert.deepEqual(part, printed(5000 * 0.92, 5000 * 1.08));
  });

  test('names the function that causes the limit', () => {
    const rootCauseFunction = { name: '(anonymous)', place: 'app.js:7', share: 0.9 };
    const { change } = drawConclusion({ limit: 'event-loop-blocked', rootCauseFunction }).remedy;
    assert.equal(change, 'the cause is the function at app.js:7: do less');
  });

  test('of serialized requests says whether a second process locates the limit inside or outside the process', () => {
    const of = (ratio) =>
      drawConclusion({ limit: 'serialized', experiments: secondProcess(ratio) }).remedy;
    assert.match(of(1.98).change, /x 1.98: the limit is inside the process/);
    assert.match(of(1.01).change, /x 1.01: the limit is outside the process/);
    assert.equal(of(1.4).change, 'do less');
  });

  test('of a busy loop is predicted to yield what a second process yielded', () => {
    const found = drawConclusion({ limit: 'event-loop-cpu', experiments: secondProcess(1.8) });
    const { low } = printed(1000 * 1.8 * 0.97, 1000 * 1.8 * 1.03);
    assert.equal(Math.round(found.remedy.predictedThroughput.low), Math.round(low));
  });

  test('is predicted from an experiment as far as its result was predicted', () => {
    const of = (predicted) => {
      const [one] = secondProcess(1.8);
      const measured = { ratio: 1.8, low: 0.5, high: 6.6, pairs: 2 };
      const experiments = [{ ...one, measured, predicted }];
      const { low, high } = drawConclusion({ limit: 'event-loop-cpu', experiments }).remedy
        .predictedThroughput;
      return [Math.round(low), Math.round(high)];
    };
    // Two pairs differ too much: the range is at most a factor of 1.5.
    const around = (low, high) => Object.values(printed(low, high)).map(Math.round);
    const [alone, cut] = [around(1440, 2160), around(1440, 2100)];
    assert.deepEqual(of({ 'event-loop-cpu': { low: 1.2, high: 2.1 } }), cut);
    assert.deepEqual(of({ 'event-loop-cpu': { low: 0.7, high: 2.1 } }), cut);
    // A new process yields more later, as far as was predicted.
    const { high: later } = printed(1440, 2500);
    assert.equal(of({ 'event-loop-cpu': { low: 1.2, high: 2.5 } })[1], Math.round(later));
    // The range is symmetric around the measured ratio.
    assert.deepEqual(of({ logging: { low: 1.2, high: 2.1 } }), alone);
    // The measured ratio is not cut off, though the intervals overlap.
    assert.deepEqual(of({ 'event-loop-cpu': { low: 1.2, high: 1.7 } }), alone);
    // A result that contradicts the prediction counts as measured.
    assert.deepEqual(of({ 'event-loop-cpu': { low: 7, high: 8 } }), alone);
  });

  test('of a busy loop yields no more than the load asks for, which is the next limit', () => {
    const predictedThroughput = { low: 10_000, high: 20_000 };
    const of = (limit, { change = () => {}, predicted = predictedThroughput, ...more } = {}) => {
      const metrics = buildHealthyMetrics();
      Object.assign(metrics.loop, { busy: 1 });
      change(metrics);
      const nextLimit = 'event-loop-cpu';
      return drawConclusion({ limit, metrics, nextLimit, predictedThroughput: predicted, ...more })
        .remedy;
    };
    const isFree = (remedy) => {
      assert.deepEqual(remedy.predictedThroughput, printed(10_000, 20_000));
      assert.equal(remedy.nextLimit, 'event-loop-cpu');
    };
    // 50 requests in flight, which wait 35 ms each for something other than the loop.
    const most = 50_000 / 35;
    const { predictedThroughput: then, nextLimit } = of('logging');
    assert.deepEqual(then, printed(0.8 * most, most));
    assert.equal(nextLimit, 'too-few-connections');
    // If the bound may or may not be reached, the loop is still the next limit.
    assert.equal(
      of('logging', { predicted: { low: 900, high: 1500 } }).nextLimit,
      'event-loop-cpu',
    );
    // A client that thinks asks for less.
    const thinks = (metrics) => Object.assign(metrics.base.load.plan, { thinkTimeMs: 10 });
    const thought = of('logging', { change: thinks }).predictedThroughput.high;
    assert.equal(thought, printed((0.8 * 50_000) / 45, 50_000 / 45).high);
    // The synchronous wait continues off the loop.
    const waits = (metrics) => Object.assign(metrics.loop, { waiting: 0.5 });
    const held = of('event-loop-sync-wait', { change: waits }).predictedThroughput.high;
    assert.ok(Math.abs(held - printed((0.8 * 50_000) / 35.5, 50_000 / 35.5).high) < 1e-6);
    // The requests may wait for what the remedy removes.
    isFree(of('tls-handshake'));
    // A sustained rate has no variation.
    const open = { change: (metrics) => Object.assign(metrics, { model: 'open' }) };
    assert.deepEqual(of('logging', open).predictedThroughput, predictedThroughput);
    const overload = { rate: 5000, answered: 1000 };
    isFree(of('logging', { change: (metrics) => Object.assign(metrics, { overload }) }));
    // The throughput is higher already.
    isFree(of('logging', { change: (metrics) => Object.assign(metrics, { throughput: 1500 }) }));
    // A second process yielded more.
    const gave = of('event-loop-cpu', { experiments: secondProcess(1.9) }).predictedThroughput;
    assert.ok(gave.high > 1900, `${gave.high}`);
  });
});

test('a load that only measured a redirect says so', () => {
  const metrics = buildHealthyMetrics();
  metrics.sample = { status: 301, headers: { location: 'https://host/' }, bodyBytes: 0 };
  const { cannotSee } = drawConclusion({ limit: 'errors', metrics });
  assert.ok(
    cannotSee.includes(
      'the target of the redirect (301) to https://host/: load that URL to measure it',
    ),
  );
});

test('a likely limit without rivals says what would confirm it', () => {
  const of = (limit, predictions, experiments) =>
    drawConclusion({ limit, predictions, experiments })
      .cannotSee.filter((line) => line.startsWith('a confirmation of'))
      .join();
  const sockets = { 'max-sockets-x2': { low: 1.5, high: 2.1 } };
  assert.match(of('serialized', {}), /^a confirmation of serialized: .* no experiment here/);
  assert.match(of('outbound-pool', sockets), /'max sockets x2', which would, was not made/);
  const [second] = secondProcess(1.2);
  const varied = [{ ...second, name: 'max-sockets-x2' }];
  assert.match(of('outbound-pool', sockets, varied), /'max sockets x2' varied too much/);
  const [more] = secondProcess(5);
  const larger = [{ ...more, name: 'max-sockets-x2' }];
  assert.match(of('outbound-pool', sockets, larger), /'max sockets x2' changed more than/);
  assert.equal(of(null), '');
});

test('the rivals that no experiment tells apart are one line', () => {
  const rivals = ['gc-young', 'memory-growth'].map((limit) => ({ limit, predictions: {} }));
  const lines = drawConclusion({ limit: 'noisy-machine', rivals }).cannotSee.filter((line) =>
    line.startsWith('whether the limit is'),
  );
  assert.equal(lines.length, 1);
  assert.match(
    lines[0],
    /^whether the limit is gc-young or memory-growth instead: no experiment here tells them apart; to confirm noisy-machine, run/,
  );
});

test('an experiment excludes the limits of which it measured less than predicted, not more', () => {
  const of = (ratio) => {
    const [second] = secondProcess(ratio);
    const predicted = { 'outbound-pool': { low: 1.5, high: 2.1 } };
    const experiments = [{ ...second, name: 'max-sockets-x2', predicted }];
    return drawConclusion({ limit: 'errors', experiments }).experiments[0].excludes;
  };
  assert.deepEqual([of(1), of(1.8), of(5)], [['outbound-pool'], [], []]);
});

test('a change of throughput during the baseline is reported if it exceeds the noise', () => {
  const of = (after) => {
    const metrics = buildHealthyMetrics();
    const series = Array.from({ length: 40 }, (_, index) => ({
      completed: (index < 20 ? 1000 : after) + (index % 3),
    }));
    const { base } = metrics;
    metrics.base = { ...base, load: { ...base.load, series, durationMs: 4000 } };
    return drawConclusion({ limit: 'errors', metrics }).cannotSee.filter((line) =>
      line.startsWith('why throughput changed'),
    );
  };
  assert.equal(of(1500).length, 1);
  assert.equal(of(1020).length, 0);
});

test('steal by the host is reported once', () => {
  const metrics = buildHealthyMetrics();
  const said = (steal, { wanted = 1, named } = {}) => {
    const cpu = { ...metrics.machine.cpu, wanted, steal };
    const machine = { ...metrics.machine, cpu };
    const evidence = detect('noisy-machine', {
      ...metrics,
      machine: { ...machine, ...named },
    }).evidence;
    const { cannotSee } = drawConclusion({
      limit: 'noisy-machine',
      evidence,
      metrics: { ...metrics, machine },
    });
    return cannotSee.filter((line) => line.includes('steal'));
  };
  assert.deepEqual(said(0.2), [
    "throughput on dedicated cores: the machine's host took 20 % of the wanted CPU time (steal)",
  ]);
  assert.deepEqual(said(0.02), []);
  assert.deepEqual(said(0.1, { wanted: 0.1 }), []);
  // It is not reported again if it is the verdict or a rival.
  const loop = { run: 0.5, queued: 0, stolen: 0.5 };
  assert.deepEqual(said(0.5, { named: { loop } }), []);
  assert.equal(said(0.5).length, 1);
  metrics.loop.isFromProbe = false;
  const unseen = { run: 0.5, queued: 0, stolen: 0 };
  assert.deepEqual(said(0.6, { named: { loop: unseen } }), [], 'without the probe');
});

test('the most informative restarts are tried, as far as there is time', () => {
  const ms = { 'thread-pool-x4': 20, 'second-process': 15, restart: 5 };
  const all = Object.keys(ms).map((name) => ({ name }));
  const within = (left) =>
    selectWithinTime(all, left, ({ name }) => ms[name]).map(({ name }) => name);
  assert.deepEqual(within(40), ['thread-pool-x4', 'second-process', 'restart']);
  assert.deepEqual(within(39), ['thread-pool-x4', 'second-process']);
  assert.deepEqual(within(30), ['thread-pool-x4', 'restart']);
  assert.deepEqual(within(19), ['second-process']);
});

test('a second process is not tried where it would take over the socket of the first', () => {
  const setting = { hasProbe: true, canRestart: true, canAddLoad: true, isNativeStack: false };
  const { findObstacle } = EXPERIMENTS.find(({ name }) => name === 'second-process');
  assert.equal(findObstacle({ ...setting, socketPath: null }, buildHealthyMetrics()), null);
  assert.match(
    findObstacle({ ...setting, socketPath: '/run/app.sock' }, buildHealthyMetrics()),
    /app.sock/,
  );
});

test('a closed load in place of a rate that is not sustained is reported', () => {
  const metrics = buildHealthyMetrics();
  metrics.overload = { rate: 200, answered: 121 };
  const [line] = drawConclusion({ limit: 'event-loop-cpu', metrics }).verdict.arithmetic;
  assert.match(
    line,
    /^the server answers 121 of the requested 200 req\/s, and a queue grows: .* \d+ connections/,
  );
});

test('uncompressed responses are requested only if the server sends them', () => {
  const { findObstacle } = EXPERIMENTS.find(({ name }) => name === 'identity-encoding');
  assert.equal(findObstacle({}, buildHealthyMetrics()), null);
  assert.match(findObstacle({}, { ...buildHealthyMetrics(), identityBytes: null }), /compresses/);
});

test('a limit that an experiment has excluded is not the next limit', () => {
  const nextLimit = 'disk';
  const excluded = [{ limit: nextLimit, why: 'it is not' }];
  assert.equal(drawConclusion({ limit: 'logging', nextLimit }).remedy.nextLimit, nextLimit);
  assert.equal(drawConclusion({ limit: 'logging', nextLimit, excluded }).remedy.nextLimit, null);
});

test('a server that answers nothing is reported with the number of waiting requests', () => {
  const metrics = Object.assign(buildHealthyMetrics(), { throughput: 0, inFlight: 10 });
  const { sentence } = drawConclusion({ limit: null, metrics }).verdict;
  assert.match(sentence, /^cannot tell: no request was answered in .*; 10 still wait/);
});

test("a busy thread other than the loop's is named if no limit was found", () => {
  const metrics = structuredClone(buildHealthyMetrics());
  const [thread] = metrics.base.outside.processes[0].others;
  const named = (limit) =>
    drawConclusion({ limit, metrics }).cannotSee.some((line) =>
      /other than the event loop's is 97 % busy/.test(line),
    );
  assert.ok(!named(null));
  thread.run = 0.97;
  assert.ok(named(null));
  assert.match(
    drawConclusion({ limit: null, metrics }).verdict.sentence,
    /97 % busy .*, and its work is not observed/,
  );
  assert.ok(!named('logging'));
  thread.run = 0.1;
  Object.assign(metrics.base.load.generator, { busy: 0.9, starved: 0.3 });
  const { cannotSee, verdict } = drawConclusion({ limit: null, metrics });
  assert.match(
    verdict.sentence,
    /^cannot tell what the server can do: .* without a core 30 % of the time/,
  );
  const said = cannotSee.join('\n');
  assert.match(said, /generator that has its own cores .* without a core 30 % of the time/);
});
