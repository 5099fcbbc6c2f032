// Merged results of real runs, against what their server counted, and against each other in every order and grouping.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MillraceError, mergeResults } from 'millrace';
import {
  computeQuantileMs,
  decodeDurations,
  estimateLatencies,
  mergeDurations,
} from '#internal/statistics/durations.js';
import {
  asShare,
  runMix,
  runShares,
  runUsers,
  startCountingServer,
} from '../../fixtures/merge/runs.js';
import { asJson, isResult } from '../../fixtures/schemas.js';

let server;
/** Runs of the same load. */
let runs;
/** Shares of one load. */
let shares;
/** Runs of the same scenarios. */
let users;

/** How often the server answered the failing requests of the runs. */
let arrived;

function countFailing() {
  return server.answered.get('/503 503') + server.answered.get('/404 404');
}

before(async () => {
  server = await startCountingServer();
  const { url } = server;
  runs = await Promise.all([runMix(url), runMix(url), runMix(url)]);
  arrived = countFailing();
  shares = await runShares(url, 3);
  users = await Promise.all([runUsers(url), runUsers(url), runUsers(url)]);
});

after(() => server.close());

const names = ['one', 'two', 'three'];

/** Merges results of these places, under their names. */
function merge(all, places, options) {
  return mergeResults(
    places.map((place) => all[place]),
    { names: places.map((place) => names[place]), ...options },
  );
}

function sum(all, read) {
  return all.reduce((total, one) => total + read(one), 0);
}

function assertRefused(merge, message, code = 'ERR_MILLRACE_USAGE') {
  assert.throws(merge, (error) => {
    assert.ok(error instanceof MillraceError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });
}

describe('a merged result', { timeout: 30_000 }, () => {
  test('has the counts of its runs, which the server has counted', () => {
    const whole = merge(runs, [0, 1, 2]);
    for (const key of ['sent', 'ok', 'statusErrors', 'transportErrors', 'timeouts']) {
      assert.equal(
        whole.requests[key],
        sum(runs, ({ requests }) => requests[key]),
        key,
      );
    }
    // All of them have arrived; one whose time ended may have been lost with its connection, before a busy server read it.
    const failing = whole.byName.find(({ name }) => name === 'GET /:id');
    const { sent, timeouts } = failing.requests;
    assert.ok(sent - timeouts <= arrived && arrived <= sent, `${arrived} of ${sent} have arrived`);
    const { 503: unavailable, 404: notFound } = whole.statusCodes;
    assert.equal(unavailable + notFound, whole.requests.statusErrors);
    assert.equal(
      sum(whole.byName, ({ requests }) => requests.sent),
      whole.requests.sent,
    );
    assert.equal(
      whole.connections.opened,
      sum(runs, ({ connections }) => connections.opened),
    );
    assert.deepEqual(
      whole.failingResponses.map(({ status, error }) => status ?? error),
      [404, 503, 'closed-early'],
    );
    isResult(asJson(whole));
    assert.deepEqual(isResult.errors, null);
  });

  test('has the histograms, sums and percentiles of all samples', () => {
    const whole = merge(runs, [0, 1, 2]);
    for (const name of ['latency', 'serviceTime', 'gap', 'connect']) {
      const decode = ({ histograms }) => decodeDurations(histograms[name]);
      assert.deepEqual(decode(whole), mergeDurations(runs.map(decode)), name);
      const sumOf = ({ sums }) => BigInt(sums[name]);
      assert.equal(
        sumOf(whole),
        runs.map(sumOf).reduce((a, b) => a + b),
        name,
      );
    }
    // The product-limit estimate of all samples together, of which some are unfinished.
    const estimate = estimateLatencies(runs.map(({ histograms }) => histograms));
    for (const [point, quantile] of Object.entries({ p50: 0.5, p90: 0.9 })) {
      const expected = computeQuantileMs(estimate, quantile);
      assert.ok(Math.abs(whole.latencyMs[point] - expected) <= 0.001 * expected, point);
    }
    assert.ok(whole.latencyMs.censored > 0);
    const { ok, statusErrors } = whole.requests;
    assert.equal(whole.throughput.mean, ((ok + statusErrors) * 1000) / whole.durationMs);
    const ends = runs.map(({ startedAtMs, durationMs }) => startedAtMs + durationMs);
    const span = Math.max(...ends) - Math.min(...runs.map(({ startedAtMs }) => startedAtMs));
    assert.ok(Math.abs(whole.durationMs - span) < 0.01);
  });

  for (const [kind, all] of Object.entries({
    requests: () => runs,
    scenarios: () => users,
    shares: () => shares,
  })) {
    test(`is the same in every order and grouping: ${kind}`, () => {
      const [a, b, c] = all();
      const allowMissing = true;
      const whole = merge([a, b, c], [0, 1, 2]);
      for (const [x, y, z] of [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
      ]) {
        assert.deepEqual(merge([a, b, c], [x, y, z]), whole, `${x}${y}${z}`);
        const part = merge([a, b, c], [x, y], { allowMissing });
        const stored = asJson(part);
        const last = [a, b, c][z];
        const options = { allowMissing };
        const left = mergeResults([stored, last], { names: ['-', names[z]], ...options });
        assert.deepEqual(left, whole, `(${x}${y})${z}`);
        const right = mergeResults([last, part], { names: [names[z]], ...options });
        assert.deepEqual(right, whole, `${z}(${x}${y})`);
      }
      assert.deepEqual(mergeResults([whole]), whole);
      assert.deepEqual(asJson(whole), whole);
    });
  }

  test('loses no response of any window, and has their percentiles', () => {
    const whole = merge(shares, [0, 1, 2]);
    const count = ({ series }, key) => sum(series, (window) => window[key]);
    assert.equal(
      count(whole, 'completed'),
      sum(shares, (run) => count(run, 'completed')),
    );
    assert.equal(
      count(whole, 'errors'),
      sum(shares, (run) => count(run, 'errors')),
    );
    const cells = ({ startedAtMs }) => Math.floor((startedAtMs + 50) / 100);
    const first = Math.min(...shares.map(cells));
    let windows = 0;
    for (const [index, { p50Ms, p99Ms, tMs }] of whole.series.entries()) {
      const parts = shares.flatMap((run) => {
        const at = index - (cells(run) - first);
        const { latency, latencyCensored } = run.windowHistograms;
        const none = shares[0].histograms.tls;
        return latency[at]
          ? [{ latency: latency[at], latencyCensored: latencyCensored[at] ?? none }]
          : [];
      });
      assert.equal(tMs, index * 100);
      if (parts.length === 0) assert.deepEqual([p50Ms, p99Ms], [null, null]);
      else {
        windows += 1;
        const expected = computeQuantileMs(estimateLatencies(parts), 0.5);
        assert.ok(Math.abs(p50Ms - expected) <= 0.001 * expected, `${p50Ms} ${expected}`);
      }
    }
    assert.ok(windows > 1);
    // One run without them makes those of all unknown.
    const { windowHistograms, ...without } = shares[1];
    const partly = mergeResults([shares[0], without, shares[2]]);
    assert.ok(partly.series.every(({ p50Ms, p99Ms }) => p50Ms === null && p99Ms === null));
    assert.equal(partly.windowHistograms, undefined);
    assert.deepEqual(
      partly.series.map(({ completed }) => completed),
      whole.series.map(({ completed }) => completed),
    );
  });

  test('moves windows by at most half their length', () => {
    const [a, b] = structuredClone(runs);
    const at = Math.ceil(a.startedAtMs / 100) * 100;
    const counts = ({ series }) => series.map(({ completed }) => completed);
    for (const [offsetMs, windows] of Object.entries({ 0: 0, 40: 0, 60: 1, 160: 2, 240: 2 })) {
      a.startedAtMs = at;
      b.startedAtMs = at + Number(offsetMs);
      const expected = Array.from(
        { length: Math.max(a.series.length, b.series.length + windows) },
        (_, index) => (counts(a)[index] ?? 0) + (counts(b)[index - windows] ?? 0),
      );
      assert.deepEqual(counts(mergeResults([b, a])), expected, offsetMs);
    }
  });

  test('has the ten slowest requests of all, and the commit that its runs share', () => {
    const commit = 'a'.repeat(40);
    const traced = runs.map((run, index) => ({
      ...run,
      commit,
      slowest: Array.from({ length: 10 }, (_, at) => ({
        traceId: `${index}${at}`.padStart(32, '0'),
        // Two of each latency.
        latencyMs: 100 - 3 * at - (index >> 1),
        ...{ name: 'GET /', status: 200, error: null },
      })),
    }));
    const merged = merge(traced, [0, 1, 2]);
    isResult(asJson(merged));
    assert.deepEqual(isResult.errors, null);
    const all = traced.flatMap(({ slowest }) => slowest.map(({ latencyMs }) => latencyMs));
    assert.deepEqual(
      merged.slowest.map(({ latencyMs }) => latencyMs),
      all.sort((a, b) => b - a).slice(0, 10),
    );
    assert.equal(merged.commit, commit);
    const grouped = mergeResults([merge(traced, [2, 1]), traced[0]]);
    assert.deepEqual([grouped.slowest, grouped.commit], [merged.slowest, commit]);
    const others = [{ ...traced[0], commit: 'b'.repeat(40) }, traced[1]];
    assert.equal('commit' in mergeResults(others), false);
    assert.equal('slowest' in merge(runs, [0, 1]), false);
  });

  test('adds up iterations, steps, checks and metrics of scenarios', () => {
    const whole = merge(users, [0, 1, 2]);
    const { iterations, scenarios, steps, checks, metrics, hooks } = whole;
    for (const key of ['started', 'completed', 'failed', 'inProgress', 'notStarted']) {
      assert.equal(
        iterations[key],
        sum(users, (run) => run.iterations[key]),
        key,
      );
    }
    assert.deepEqual(
      scenarios.map(({ name }) => name),
      ['order', 'fail'],
    );
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['look', 'buy', 'no'],
    );
    assert.equal(
      checks.passed,
      sum(users, (run) => run.checks.passed),
    );
    assert.equal(
      hooks.calls,
      sum(users, (run) => run.hooks.calls),
    );
    const { basket } = metrics;
    assert.equal(
      basket.count,
      sum(users, (run) => run.metrics.basket.count),
    );
    assert.equal(basket.max, Math.max(...users.map((run) => run.metrics.basket.max)));
    assert.ok(Math.abs(basket.sum - sum(users, (run) => run.metrics.basket.sum)) < 1e-9);
    // The values of each run are 0.1, 0.2, ... .
    const values = users.flatMap((run) =>
      Array.from({ length: run.metrics.basket.count }, (_, index) => 0.1 * (index + 1)),
    );
    values.sort((a, b) => a - b);
    const median = values[Math.ceil(values.length / 2) - 1];
    assert.ok(Math.abs(basket.p50 - median) < 0.001, `${basket.p50} ${median}`);
    const mean = basket.sum / values.length;
    const squares = sum(values, (value) => (value - mean) ** 2);
    assert.ok(Math.abs(basket.stdev - Math.sqrt(squares / (values.length - 1))) < 1e-9);
    isResult(asJson(whole));
    assert.deepEqual(isResult.errors, null);
  });

  test('is CLIENT-BOUND if one generator is, and names it', () => {
    const [a, b] = structuredClone(runs);
    for (const { generator } of [a, b])
      Object.assign(generator, { clientBound: false, reasons: [] });
    assert.equal(mergeResults([a, b]).generator.clientBound, false);
    Object.assign(b.generator, { clientBound: true, reasons: ['a thread was busy'] });
    const { generator, warnings } = merge([a, b], [0, 1]);
    assert.equal(generator.clientBound, true);
    assert.deepEqual(generator.reasons, ['two: a thread was busy']);
    assert.ok(
      warnings.some(({ id, message }) => id === 'client-bound' && message.includes('two:')),
    );
  });

  test('is judged as a whole, by its own conditions or by those of the runs', () => {
    const whole = merge(runs, [0, 1, 2]);
    assert.deepEqual(
      whole.conditions.map(({ condition }) => condition),
      ['errors<90%'],
    );
    const { sent } = whole.requests;
    const failOn = [`errors<${sent}`, 'GET /:id: errors<1%'];
    const { conditions } = merge(runs, [0, 1, 2], { failOn });
    assert.deepEqual(
      conditions.map(({ holds }) => holds),
      [true, false],
    );
    assertRefused(
      () => merge(runs, [0, 1], { failOn: 'GET /none: p99<1s' }),
      /no request has the name/,
    );
    assertRefused(() => merge(runs, [0, 1], { failOn: 'p99' }), /failOn/);
  });

  test('lists what a machine has of its own', () => {
    const [a, b] = structuredClone(runs);
    const warning = { id: 'cpu-stolen', message: 'The host took 10 %.' };
    b.machine = { wantedCores: 2, stolenCores: 0.2 };
    b.warnings.push(warning);
    const { generators, machine, server, warnings } = merge([a, b], [0, 1]);
    assert.equal(machine, undefined);
    assert.equal(server, undefined);
    assert.deepEqual(generators.find(({ name }) => name === 'two').machine, b.machine);
    assert.ok(warnings.some(({ message }) => message === 'two: The host took 10 %.'));
  });

  test('says where runs were not under way together', () => {
    const [a, b] = structuredClone(runs);
    b.startedAtMs += 60_000;
    b.startedAt = new Date(b.startedAtMs).toISOString();
    const { warnings, durationMs } = merge([a, b], [0, 1]);
    const apart = warnings.find(({ id }) => id === 'not-together');
    assert.match(apart.message, /did not overlap in time: one had ended .* before two began/);
    assert.ok(durationMs > 60_000);
  });
});

describe('shares of a run', () => {
  test('have the plan of the whole', () => {
    const { plan, generators } = mergeResults(shares);
    assert.equal(plan.segment, undefined);
    assert.equal(plan.connections, 18);
    assert.equal(plan.requests, 360);
    assert.deepEqual(
      generators.map(({ segment }) => segment.index),
      [1, 2, 3],
    );
    assert.deepEqual(
      generators.map(({ share }) => share.connections),
      [6, 6, 6],
    );
  });

  test('are refused twice, and with others than those of one run', () => {
    const [one, two, three] = runs.map((run, index) => asShare(run, index + 1, 3));
    const again = asShare(runs[2], 2, 3);
    assertRefused(
      () => mergeResults([one, two, again], { names: ['a', 'b', 'c'] }),
      /'b' and 'c' are both share 2 of 3/,
    );
    assertRefused(
      () => mergeResults([one, asShare(runs[1], 2, 2)], { names: ['a', 'b'] }),
      /'a' is share 1 of 3, 'b' is share 2 of 2/,
    );
    assertRefused(() => mergeResults([one, runs[1]]), /is a whole run/);
    assertRefused(() => mergeResults([runs[0], runs[0]]), /both the same run/);
    assertRefused(() => mergeResults([one, three]), /share 2 of 3 missing.*--allow-missing/);
    const { missing, plan, warnings } = mergeResults([one, three], { allowMissing: true });
    assert.deepEqual(missing, [2]);
    assert.equal(plan.connections, 12);
    assert.ok(
      warnings.some(({ id, message }) => id === 'shares-missing' && /share 2/.test(message)),
    );
    const other = asShare(runs[1], 2, 3);
    other.plan.seed = 8;
    assertRefused(
      () => mergeResults([one, other, three]),
      /seed is 7 in 'share 1', 8 in 'share 2'/,
      'ERR_MILLRACE_DIFFERENT',
    );
  });
});

describe('plans', () => {
  test('that differ in a part are refused by that part', () => {
    const [a, b] = structuredClone(runs);
    const allowDifference = true;
    const [{ url }] = a.plan.targets;
    b.plan.targets[0].url = `${url}?other`;
    assertRefused(
      () => merge([a, b], [0, 1]),
      /targets\[0\]\.url is '[^']*' in 'one', '[^']*\?other' in 'two'/,
      'ERR_MILLRACE_DIFFERENT',
    );
    const { warnings } = merge([a, b], [0, 1], { allowDifference });
    const message = `The plans differ in targets[0].url: "${url}", "${url}?other".`;
    assert.ok(
      warnings.some((warning) => warning.message === message),
      JSON.stringify(warnings),
    );
    b.plan.targets = [];
    assertRefused(
      () => merge([a, b], [0, 1]),
      /targets is \[.*\] in 'one', \[\] in 'two'/,
      'ERR_MILLRACE_DIFFERENT',
    );
  });

  test('that differ are refused, or their differences are listed', () => {
    const [a, b, c] = structuredClone(runs);
    b.plan.timeoutMs = 70;
    b.plan.threads = 9;
    assertRefused(
      () => merge([a, b], [0, 1]),
      /timeoutMs is 200 in 'one', 70 in 'two'/,
      'ERR_MILLRACE_DIFFERENT',
    );
    const allowDifference = true;
    const whole = merge([a, b, c], [0, 1, 2], { allowDifference });
    assert.deepEqual(whole.differences, [{ field: 'timeoutMs', values: ['200', '70'] }]);
    assert.ok(
      whole.warnings.some(({ message }) => message === 'The plans differ in timeoutMs: 200, 70.'),
    );
    const part = merge([a, b, c], [1, 2], { allowDifference });
    const other = mergeResults([part, a], { names: ['-', 'one'], allowDifference });
    assert.deepEqual(other, whole);
    // Merged differences are not new ones.
    assertRefused(() => mergeResults([part, a]), /timeoutMs is/, 'ERR_MILLRACE_DIFFERENT');
  });

  test('may differ in connections as little as in conditions', () => {
    const [a, b] = structuredClone(runs);
    b.plan.connections = 7;
    assertRefused(() => merge([a, b], [0, 1]), /connections is 6/, 'ERR_MILLRACE_DIFFERENT');
    b.plan.connections = 6;
    b.conditions[0].condition = 'errors<80%';
    assertRefused(() => merge([a, b], [0, 1]), /failOn\[0\] is/, 'ERR_MILLRACE_DIFFERENT');
    const failOn = 'errors<100%';
    assert.equal(merge([a, b], [0, 1], { failOn }).conditions.length, 1);
  });
});
