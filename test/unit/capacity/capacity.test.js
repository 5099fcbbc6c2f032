// How much a server can take: against simulated servers, whose capacity is known, and against real ones.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { capacity } from 'millrace';
import { Budget } from '../../../dist/capacity/budget.js';
import { searchRate } from '../../../dist/capacity/search.js';
import { sweepConnections } from '../../../dist/capacity/sweep.js';
import { nextRate, thresholdOf } from '../../../dist/capacity/threshold.js';
import { parseCondition } from '../../../dist/load/condition.js';
import { capacityPage } from '../../../dist/report/capacity/html.js';
import { capacityText } from '../../../dist/report/capacity/text.js';
import { Noise } from '../../fixtures/noise.js';
import { retried } from '../../fixtures/retry.js';
import { asJson, isCapacityResult, isSearch, isSweep } from '../../fixtures/schemas.js';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const service = fileURLToPath(new URL('../../fixtures/capacity/one-at-a-time.js', import.meta.url));
const noise = new Noise(11);
const assertFits = (isOne, value) =>
  assert.ok(isOne(asJson(value)), JSON.stringify(isOne.errors, null, 2));
const near = (share, value, truth, what) =>
  assert.ok(Math.abs(value / truth - 1) <= share, `${what}: ${value} instead of ${truth}`);

describe('threshold of pass and fail', () => {
  /** Trials as `nextRate` places them, of a server whose blocks hold below about `truth`. */
  const trialsOf = (count, { truth, spread, stalls }) => {
    const trials = [];
    let rate = truth * (0.3 + noise.uniform());
    for (let trial = 0; trial < count; trial += 1) {
      const chance = 1 / (1 + Math.exp(Math.log(rate / truth) / spread));
      trials.push({ rate, held: noise.uniform() < chance && noise.uniform() > stalls });
      rate = nextRate(trials);
    }
    return trials;
  };

  for (const spread of [0.002, 0.03, 0.1]) {
    for (const stalls of [0, 0.05]) {
      test(`the interval covers the truth: spread ${spread}, ${100 * stalls} % stalls`, () => {
        const [runs, truth] = [120, 1000];
        let [covered, close] = [0, 0];
        for (let run = 0; run < runs; run += 1) {
          const { value, low, high } = thresholdOf(trialsOf(12, { truth, spread, stalls }));
          covered += low <= truth && truth <= high ? 1 : 0;
          close += Math.abs(Math.log(value / truth)) < 0.2 ? 1 : 0;
        }
        assert.ok(covered >= 0.9 * runs, `${covered} of ${runs}`);
        assert.ok(close >= 0.9 * runs, `${close} of ${runs} within 20 %`);
      });
    }
  }

  test('more trials make it narrower, a contradiction wider', () => {
    const sharp = { truth: 1000, spread: 0.002, stalls: 0 };
    const width = (trials) => {
      const { low, high } = thresholdOf(trials);
      return high / low;
    };
    assert.ok(width(trialsOf(24, sharp)) < width(trialsOf(10, sharp)));
    const rates = [500, 700, 900, 940, 1060, 1100, 1300];
    const clear = [...rates, ...rates].map((rate) => ({ rate, held: rate < 1000 }));
    const also = (rate, held) => width([...clear, { rate, held }]);
    assert.ok(also(850, false) > also(850, true));
    assert.ok(also(1150, true) > also(1150, false));
  });

  test('it goes up while all hold, and down while none does', () => {
    assert.equal(nextRate([{ rate: 100, held: true }]), 150);
    assert.equal(nextRate([{ rate: 90, held: false }]), 60);
    const between = nextRate([
      { rate: 100, held: true },
      { rate: 150, held: false },
    ]);
    assert.ok(between > 80 && between < 190, `${between}`);
  });
});

/** A real result, to be changed into those of simulated blocks. */
const sample = JSON.parse(
  readFileSync(new URL('../../fixtures/report-closed.json', import.meta.url), 'utf8'),
);
const result = (requestsPerSecond, changes = {}) => ({
  ...sample,
  interrupted: false,
  warnings: [],
  durationMs: 1000,
  generator: { ...sample.generator, clientBound: changes.clientBound ?? false },
  throughput: { mean: requestsPerSecond, stdev: null },
  requests: {
    ...sample.requests,
    sent: requestsPerSecond,
    ok: requestsPerSecond * (1 - (changes.errors ?? 0)),
    statusErrors: requestsPerSecond * (changes.errors ?? 0),
    transportErrors: 0,
    timeouts: 0,
  },
  latencyMs: { ...sample.latencyMs, p99: changes.p99 ?? 1, mean: 1 },
});

/** Stands in for a server: blocks take no time. */
class Simulated {
  over = false;
  ended = null;
  interrupted = false;
  blocks = [];
  #block;

  constructor(block) {
    this.#block = block;
  }

  async warmUp(connections) {
    return this.#block({ connections });
  }

  async drain() {}

  async run(block) {
    this.blocks.push(block);
    return this.over ? null : this.#block(block, this);
  }
}

const budget = () => new Budget(60_000, () => {});

describe('sweep of a simulated server', () => {
  const scatter = () => Math.exp(noise.normal(0.02));
  const bounds = (single, most) => (n) => Math.min(n / single, most) * scatter();
  const sweep = async (throughput, most = 1024, changes = () => ({})) => {
    const target = new Simulated(({ connections }, self) =>
      result(throughput(connections), changes(connections, self)),
    );
    const measured = await sweepConnections(target, budget(), most, () => noise.uniform());
    assertFits(isSweep, measured.sweep);
    return { ...measured.sweep, target };
  };

  test('maximum and knee, three levels further, each in three blocks', async () => {
    const { model, levels, ended, best } = await sweep(bounds(0.05, 1000));
    assert.equal(ended, 'past-knee');
    near(0.05, model.maxThroughput.value, 1000, 'maximum');
    near(0.08, model.knee.value, 50, 'knee');
    near(0.05, model.singleMs.value, 50, 'single');
    near(0.1, best.throughput.mean, 1000, 'best');
    assert.deepEqual(
      levels.map(({ connections, blocks }) => [connections, blocks.length]),
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        .filter((n) => n <= levels.at(-1).connections)
        .map((n) => [n, 3]),
    );
    assert.ok(levels.filter(({ connections }) => connections > 60).length >= 3);
  });

  test('no knee within the connections that are allowed: none is claimed', async () => {
    const { model, levels, ended } = await sweep(bounds(0.05, 1e9), 100);
    assert.equal(ended, 'connections');
    assert.equal(levels.at(-1).connections, 100);
    assert.equal(model.maxThroughput, null);
  });

  test('a fall is a peak', async () => {
    const law = (n) => ((1000 * n) / (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1))) * scatter();
    const { model } = await sweep(law);
    near(0.15, model.peak.value, Math.sqrt(0.95 / 0.002), 'peak');
  });

  test('a level that fails is the end, and not counted', async () => {
    const { ended, levels, best } = await sweep(bounds(0.05, 1e9), 1024, (n) => ({
      errors: n > 20 ? 0.5 : 0,
    }));
    assert.equal(ended, 'errors');
    assert.equal(levels.at(-1).connections, 32);
    assert.equal(levels.at(-1).errorShare, 0.5);
    assert.equal(best.connections, 16);
  });

  test('one block with a busy generator is no end, two are', async () => {
    let met = 0;
    const once = await sweep(bounds(0.05, 100), 1024, (n) => ({
      clientBound: n === 4 && met++ === 0,
    }));
    assert.equal(once.ended, 'past-knee');
    assert.ok(once.levels.every(({ clientBound, blocks }) => !clientBound && blocks.length === 3));
    const always = await sweep(bounds(0.05, 1e9), 1024, (n) => ({ clientBound: n >= 64 }));
    assert.equal(always.ended, 'client-bound');
    assert.equal(always.levels.at(-1).clientBound, true);
    assert.equal(always.best.connections, 32);
  });

  test('a server that ends leaves what was measured', async () => {
    const { ended, levels } = await sweep(bounds(0.05, 1000), 1024, (n, self) => {
      if (n === 16) Object.assign(self, { over: true, ended: 'ended with exit code 1' });
      return {};
    });
    assert.equal(ended, 'server-ended');
    assert.deepEqual(
      levels.map(({ connections }) => connections),
      [1, 2, 4, 8, 16],
    );
  });
});

describe('search with a simulated server', () => {
  const conditions = [parseCondition('p99<50ms', 'slo')];
  /** Latency rises where the rate comes near to the capacity. */
  const server =
    (most, changes = () => ({})) =>
    ({ rate = 0.5 * most }) => {
      const p99 = (10 / Math.max(1e-3, 1 - rate / most)) * Math.exp(noise.normal(0.05));
      return result(Math.min(rate, most), { p99, ...changes(rate) });
    };
  const search = async (block) => {
    const target = new Simulated(block);
    const measured = await searchRate(target, { conditions, budget: budget() }, 64);
    assertFits(isSearch, measured.search);
    return { ...measured.search, target };
  };

  test('the highest rate is found, and confirmed at the lower end', async () => {
    const { rate, ended, confirmed, trials } = await search(server(2000));
    assert.equal(ended, 'found');
    near(0.05, rate.value, 1600, 'rate: p99 is 10 / (1 - rate / 2000)');
    assert.ok(rate.low <= 1600 && 1600 <= rate.high && rate.high / rate.low <= 1.06);
    assert.equal(confirmed.rate, rate.low);
    assert.ok(confirmed.held && trials.length >= 8);
  });

  test('blocks are long enough for their percentile', async () => {
    const { target } = await search(server(300));
    for (const { rate, durationMs } of target.blocks.filter(({ rate }) => rate)) {
      assert.ok((rate * durationMs) / 1000 >= 999.9, `${rate} for ${durationMs} ms`);
    }
  });

  test('a rate too low for the percentile is said, with the budget that it takes', async () => {
    const { rate, ended, reason } = await search(server(20));
    assert.deepEqual([rate, ended], [null, 'budget']);
    assert.match(
      reason,
      /p99<50ms takes 1,000 requests a block, at .* give it --budget \d+s, or a lower/,
    );
  });

  test('errors are failures', async () => {
    const { rate, trials } = await search(
      server(1e6, (rate) => ({ errors: rate > 700 ? 0.2 : 0 })),
    );
    assert.ok(rate.value < 7e5);
    assert.ok(trials.some(({ failures }) => failures.includes('20 % failed')));
  });

  test('where only the generator fails there is no upper end', async () => {
    const { rate, ended } = await search(
      server(2000, (rate) => (rate > 1200 ? { p99: 500, clientBound: true } : { p99: 10 })),
    );
    assert.equal(ended, 'client-bound');
    assert.equal(rate.high, Number.POSITIVE_INFINITY);
    assert.ok(rate.low <= 1300 && rate.low > 600, `${rate.low}`);
  });
});

describe('real servers', () => {
  const env = { ...process.env, NO_COLOR: '1' };
  const millrace = (args, settings = {}) => {
    const child = spawn(process.execPath, [bin, 'capacity', ...args], {
      env: { ...env, ...settings },
    });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream].setEncoding('utf8').on('data', (text) => {
        output[stream] += text;
      });
    }
    const ended = once(child, 'close').then(([code]) => ({ code, ...output }));
    return { child, output, ended };
  };
  const started = ['--', process.execPath, service];
  const folder = mkdtempSync(join(tmpdir(), 'millrace-capacity-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('throughput over connections: a delay of 20 ms, and 4 ms one after the other', async () => {
    const page = join(folder, 'page.html');
    const flags = ['--json', '--html', page, '--budget', '16s', ...started];
    const sweep = async () => {
      const { code, stdout, stderr } = await millrace(flags, { DELAY: '20', SERVICE: '4' }).ended;
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const report = await retried(sweep, ({ sweep: { levels, best } }) => {
      near(0.2, best.throughput.mean, 250, 'best');
      assert.ok(best.connections >= 4, `${best.connections} connections`);
      // Whatever this machine did meanwhile, more connections were no slower by far.
      const last = levels.at(-1);
      near(0.3, last.throughput.mean, 250, 'last');
      near(0.3, last.latencyMs.p50, last.connections * 4, 'wait of the last');
    });
    assertFits(isCapacityResult, report);
    assert.equal(readFileSync(page, 'utf8'), capacityPage(report));
    assert.equal(report.schemaVersion, 1);
    assert.equal(report.search, null);
    assert.match(capacityText(report, { color: false, width: 80, notes: [] }), /req\/s/);
  });

  test('the highest rate: within 20 % of what the queue gives', async () => {
    // Lindley's recursion: what waits is what waited before, plus the service, less the time between two arrivals.
    const [delay, serviceMs, boundMs] = [20, 4, 100];
    const p90 = (rate) => {
      let wait = 0;
      const times = Array.from({ length: 60_000 }, () => {
        wait = Math.max(0, wait + serviceMs - noise.exponential(1000 / rate));
        return delay + wait + serviceMs;
      });
      return times.sort((a, b) => a - b)[54_000];
    };
    let [low, high] = [10, 250];
    while (high / low > 1.005) {
      const middle = Math.sqrt(low * high);
      if (p90(middle) < boundMs) low = middle;
      else high = middle;
    }
    const flags = ['--json', '--slo', 'p90<100ms', '--budget', '30s', ...started];
    const env = { DELAY: String(delay), SERVICE: String(serviceMs) };
    const search = async () => {
      const { code, stdout, stderr } = await millrace(flags, env).ended;
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const report = await retried(search, ({ search: { rate, trials } }) => {
      near(0.2, rate.value, low, 'rate');
      // JSON has no infinity: without an upper end it is `null`.
      const meets = rate.low <= 1.2 * low && (rate.high ?? low) >= 0.8 * low;
      assert.ok(meets, `${rate.low} to ${rate.high} instead of ${low}`);
      assert.ok(trials.some(({ held }) => held) && trials.some(({ held }) => !held));
    });
    assertFits(isCapacityResult, report);
    assert.deepEqual(report.search.objective, ['p90<100ms']);
  });

  test('no line of the text is wider than the terminal', () => {
    const level = (connections, changes) => ({
      ...{
        connections,
        blocks: [9e5],
        throughput: { mean: 9e5, low: 8e5, high: 1e6 },
        serverCpu: 12,
      },
      ...{
        latencyMs: { mean: 1, p50: 123, p99: 1234 },
        errorShare: 0,
        clientBound: false,
        ...changes,
      },
    });
    const trial = (rate, changes) => ({
      ...{
        rate,
        durationMs: 1000,
        throughput: rate,
        latencyMs: { mean: 1, p50: 1, p99: 1 },
        samples: 9,
      },
      ...{ measured: [1234, 0.5], held: true, failures: [], clientBound: false, ...changes },
    });
    const failures = ['p99<50ms: it is 1.23 s', '50 % failed', 'only 123,456/s completed'];
    const whole = {
      ...{ durationMs: 60_000, interrupted: false, warnings: [], plan: sample.plan },
      sweep: {
        levels: [
          level(1),
          level(1_000_000, { errorShare: 0.0012 }),
          level(64, { clientBound: true }),
        ],
        ...{ best: level(1), model: null, ended: 'client-bound' },
      },
      search: {
        ...{ objective: ['p99<50ms', 'errors<1%'], rate: { value: 9e5, low: 8e5, high: 1e6 } },
        trials: [trial(9e5), trial(1e6, { held: false, clientBound: true, failures })],
        ...{
          confirmed: trial(8e5),
          single: { meanMs: 1, samples: 9 },
          ended: 'budget',
          reason: '',
        },
      },
    };
    for (const width of [80, 100, 120]) {
      const lines = capacityText(whole, { color: false, width, notes: [] }).split('\n');
      for (const line of lines) assert.ok(line.length <= width, line);
    }
  });

  test('one that never holds the objective: exit 99, with the reason', async () => {
    const { ended } = millrace(['--slo', 'p50<5ms', '--budget', '5s', ...started], { DELAY: '30' });
    const { code, stdout } = await ended;
    assert.equal(code, 99);
    assert.match(
      stdout,
      /p50<5ms: no rate found: not even one request at a time holds p50<5ms: it is/,
    );
  });

  test('one that answers errors: no rate, and no level', async () => {
    const failing = { FAILS_ABOVE: '0' };
    const rates = await millrace(['--slo', 'p50<1s', '--budget', '5s', ...started], failing).ended;
    assert.equal(rates.code, 99);
    assert.match(rates.stdout.replace(/\s+/g, ' '), /every request failed, with status 503/);
    const levels = await millrace(['--budget', '5s', ...started], failing).ended;
    assert.equal(levels.code, 3);
    assert.match(levels.stdout, /No level tells of the server/);
  });

  test('one that ends under load: what was measured until then, and exit 3', async () => {
    const env = { DELAY: '5', ENDS_ABOVE: '12' };
    const sweep = () => millrace(['--json', '--budget', '10s', ...started], env).ended;
    // A busy machine may bound the generator before.
    await retried(sweep, ({ code, stdout }) => {
      const report = JSON.parse(stdout);
      assertFits(isCapacityResult, report);
      assert.equal(report.sweep.ended, 'server-ended');
      assert.equal(code, 3);
      assert.deepEqual(
        report.sweep.levels.map(({ connections }) => connections),
        [1, 2, 4, 8],
      );
    });
  });

  test('one that ends at once, and one that is not there: one line, exit 3', async () => {
    const ends = await millrace(['--', process.execPath, '-e', 'process.exit(1)']).ended;
    assert.equal(ends.code, 3);
    assert.match(ends.stderr, /^millrace: .*ended with exit code 1 before it listened.*\n$/);
    const absent = await millrace(['http://127.0.0.1:1/']).ended;
    assert.equal(absent.code, 3);
    assert.match(absent.stderr, /^millrace: cannot connect to 127\.0\.0\.1:1: .*\n$/);
  });

  describe('a server in this process', () => {
    let url;
    let requests = 0;
    let onRequest = () => {};
    const server = createServer((request, response) => {
      requests += 1;
      onRequest(request);
      setTimeout(() => response.end(), 5);
    });

    before(async () => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      url = `http://127.0.0.1:${server.address().port}/`;
    });
    after(() => {
      server.closeAllConnections();
      server.close();
    });

    test('Ctrl-C: the report so far', async () => {
      const { child, ended } = millrace(['--json', '--budget', '60s', url]);
      // Sent on the second connection of a level of several, so after the first one.
      const seen = new Promise((resolve) => {
        const sockets = new Set();
        onRequest = ({ socket }) => {
          sockets.add(socket);
          if (sockets.size > 14) resolve();
        };
      });
      await seen;
      child.kill('SIGINT');
      const { code, stdout, stderr } = await ended;
      onRequest = () => {};
      assert.equal(code, 0, stderr);
      const report = JSON.parse(stdout);
      assertFits(isCapacityResult, report);
      assert.equal(report.interrupted, true);
      assert.equal(report.sweep.ended, 'interrupted');
      assert.ok(report.sweep.levels.length >= 1);
    });

    test('the API tells what it does while it goes on, and obeys its signal', async () => {
      const abort = new AbortController();
      const run = capacity({ url, slo: ['p50<1s'], budget: '20s', signal: abort.signal });
      const steps = [];
      for await (const { step, elapsedMs, budgetMs } of run) {
        steps.push(step);
        assert.ok(elapsedMs >= 0 && budgetMs === 20_000);
        if (/requests per second/.test(step)) abort.abort();
      }
      const result = await run;
      assertFits(isCapacityResult, result);
      const { interrupted, search } = result;
      assert.equal(interrupted, true);
      assert.equal(search.ended, 'interrupted');
      assert.ok(steps.includes('one request after the other'), steps.join());
      const early = capacity({ url, signal: AbortSignal.abort(new Error('enough')) });
      await assert.rejects(early, /enough/);
      assert.ok(requests > 0);
    });
  });

  const BAD_INPUT = [
    [[], /^millrace: capacity needs a server: /],
    [['--slo', 'p99<50', 'h'], /^millrace: --slo: 'p99<50' is not a condition; accepted: /],
    [['--slo', 'throughput>5', 'h'], /'throughput>5' given; accepted: times, errors and timeouts/],
    [['--budget', '1s', 'h'], /^millrace: budget: '1000' given; accepted: 5s or more$/],
    [['--budget', 'soon', 'h'], /^millrace: --budget: 'soon' is not a duration/],
    [['-d', '5s', 'h'], /^millrace: -d is not taken: .* --budget 60s$/],
    [['-n', '5', 'h'], /^millrace: -n is not taken: .* --budget 60s$/],
    [['-R', '100', 'h'], /^millrace: -R is not taken: rates are what capacity looks for/],
    [['--stage', '1s:5', 'h'], /^millrace: --stage is not taken: /],
    [['--html', '-', 'h'], /^millrace: --html: '-' given; accepted: the name of a file$/],
    [['--html', '/no/such/x', 'h'], /^millrace: '\/no\/such\/x' cannot be written: /],
    [['--fail-on', 'p99<1s', 'h'], /^millrace: --fail-on is not taken: an objective is --slo$/],
    [['-c', '0', 'h'], /^millrace: -c: '0' given/],
    [['htp://h'], /^millrace: URL: 'htp:\/\/h' is not a URL to load/],
    [['--'], /-- given without a command after it/],
  ];
  for (const [args, message] of BAD_INPUT) {
    test(`bad input: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await millrace(args).ended;
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr.trimEnd(), message);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    });
  }

  test('bad input of the API', async () => {
    await assert.rejects(capacity({ url: 'http://h', rate: 5 }), /unknown option 'rate'/);
    await assert.rejects(
      capacity({ url: 'http://h', slo: 5 }),
      /slo: 5 given; accepted: a condition/,
    );
    await assert.rejects(capacity({ url: 'http://h', slo: [] }), /slo: an empty list given/);
  });
});
