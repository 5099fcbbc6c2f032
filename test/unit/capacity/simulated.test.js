// How much a server can take: against simulated servers, whose capacity is known.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Budget } from '#internal/capacity/budget.js';
import { searchRate } from '#internal/capacity/search.js';
import { sweepConnections } from '#internal/capacity/sweep.js';
import { parseCondition } from '#internal/load/plan/condition.js';
import { Noise } from '../../fixtures/noise.js';
import { asJson, isSearch, isSweep } from '../../fixtures/schemas.js';

const noise = new Noise(11);
const assertFits = (isOne, value) =>
  assert.ok(isOne(asJson(value)), JSON.stringify(isOne.errors, null, 2));
const near = (share, value, truth, what) =>
  assert.ok(Math.abs(value / truth - 1) <= share, `${what}: ${value} instead of ${truth}`);

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

  test('a sweep has maximum and knee, three further levels, and each level in three blocks', async () => {
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

  test('no knee is claimed if the allowed connections do not reach it', async () => {
    const { model, levels, ended } = await sweep(bounds(0.05, 1e9), 100);
    assert.equal(ended, 'connections');
    assert.equal(levels.at(-1).connections, 100);
    assert.equal(model.maxThroughput, null);
  });

  test('a decline is reported as a peak', async () => {
    const law = (n) => ((1000 * n) / (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1))) * scatter();
    const { model } = await sweep(law);
    near(0.15, model.peak.value, Math.sqrt(0.95 / 0.002), 'peak');
  });

  test('a level that fails ends the sweep and is not counted', async () => {
    const { ended, levels, best } = await sweep(bounds(0.05, 1e9), 1024, (n) => ({
      errors: n > 20 ? 0.5 : 0,
    }));
    assert.equal(ended, 'errors');
    assert.equal(levels.at(-1).connections, 32);
    assert.equal(levels.at(-1).errorShare, 0.5);
    assert.equal(best.connections, 16);
  });

  test('one block with a busy generator does not end the sweep, two do', async () => {
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

  test('the levels so far are kept if the server ends', async () => {
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

  test('a rate that the confirming block does not hold is not the answer', async () => {
    const held = (rate) => rate !== undefined && rate <= 1000;
    let trials = 0;
    const target = new Simulated(({ rate, durationMs }) => {
      trials += rate === undefined ? 0 : 1;
      // The last block, the longest: it shows what shorter ones did not.
      const isLong = durationMs >= 5000;
      return result(rate ?? 2000, { p99: held(rate) && !isLong ? 10 : 500 });
    });
    const { search: found } = await searchRate(target, { conditions, budget: budget() }, 64);
    assert.equal(found.confirmed?.held, false, `${trials} blocks`);
    assert.ok(
      found.rate.low < found.confirmed.rate,
      `${found.rate.low} of ${found.confirmed.rate}`,
    );
  });

  test('blocks are long enough for their percentile', async () => {
    const { target } = await search(server(300));
    for (const { rate, durationMs } of target.blocks.filter(({ rate }) => rate)) {
      assert.ok((rate * durationMs) / 1000 >= 999.9, `${rate} for ${durationMs} ms`);
    }
  });

  test('a rate that is too low for the percentile is reported with the necessary budget', async () => {
    const { rate, ended, reason } = await search(server(20));
    assert.deepEqual([rate, ended], [null, 'budget']);
    assert.match(
      reason,
      /p99<50ms needs 1,000 requests per block, .* use --budget \d+s or a lower percentile/,
    );
  });

  test('errors are failures', async () => {
    const { rate, trials } = await search(
      server(1e6, (rate) => ({ errors: rate > 700 ? 0.2 : 0 })),
    );
    assert.ok(rate.value < 7e5);
    assert.ok(trials.some(({ failures }) => failures.includes('20 % failed')));
  });

  test('nothing is claimed beyond the tried rates after one unlucky block below others that held', async () => {
    let [isUnlucky, blocks] = [true, 0];
    const target = new Simulated(({ rate }, self) => {
      blocks += rate === undefined ? 0 : 1;
      if (blocks === 6) self.over = true;
      if (rate > 800 && rate < 2000 && isUnlucky) {
        isUnlucky = false;
        return result(rate, { p99: 500 });
      }
      return result(rate ?? 1000, { p99: 10 });
    });
    const { search: measured } = await searchRate(target, { conditions, budget: budget() }, 64);
    const { rate, trials } = measured;
    const highest = Math.max(...trials.map((trial) => trial.rate));
    assert.ok(trials.some(({ held }) => !held) && trials.length === 6, `${trials.length}`);
    assert.equal(rate.high, Number.POSITIVE_INFINITY);
    assert.ok(rate.value <= highest && rate.low <= highest, `${rate.value} of ${highest}`);
  });

  test('there is no upper end if only the generator failed', async () => {
    const { rate, ended } = await search(
      server(2000, (rate) => (rate > 1200 ? { p99: 500, clientBound: true } : { p99: 10 })),
    );
    assert.equal(ended, 'client-bound');
    assert.equal(rate.high, Number.POSITIVE_INFINITY);
    assert.ok(rate.low <= 1300 && rate.low > 600, `${rate.low}`);
  });
});
