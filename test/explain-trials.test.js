// What the trials do with a server that gives what they are told to find.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProbeFailure } from '../dist/explain/subject.js';
import { Trials } from '../dist/explain/trials.js';
import { factsOfHealthy } from './explain/facts.js';

/** Of a server where eight requests share each connection, and each waits for the slowest of them. */
function factsOfPipelined() {
  const facts = structuredClone(factsOfHealthy());
  facts.base.load.plan.pipelining = 8;
  facts.base.inside.outbound = [];
  Object.assign(facts, { responseMs: 200, singleMs: 50 });
  return facts;
}

/** Trials of it: one request at a time on a connection gives four times as much. `repeat` is told what is tried for longer. */
function trialsOf({ repeat = (block) => block, leftMs = 60_000 } = {}) {
  const facts = factsOfPipelined();
  const heard = [];
  const subject = {
    hub: {
      processes: [],
      async command(name, { on }) {
        heard.push(`${name} ${on}`);
        return [null];
      },
    },
    options: {},
    answered: 0,
    async block({ measureMs }, { load, probe } = {}) {
      const block = structuredClone(facts.base);
      if (load?.pipelining === 1) block.throughput *= 4;
      else if (load?.connections > facts.base.load.plan.connections) block.throughput *= 2;
      else if (load?.connections < facts.base.load.plan.connections) block.throughput /= 2;
      const isLong = measureMs >= 2000 && !probe;
      if (!isLong) return block;
      heard.push(`${load?.pipelining === 1 ? 'depth 1' : 'another'} for longer`);
      return repeat({ ...block, throughput: 1.2 * block.throughput });
    },
  };
  const setting = {
    probe: true,
    nativeStack: false,
    restart: false,
    moreLoad: true,
    ownPath: null,
  };
  const trials = new Trials(
    subject,
    { facts, retained: null },
    { setting: () => setting, untilMs: performance.now() + leftMs, onStep() {} },
  );
  return { trials, heard };
}

test('requests that wait for others on their connection: fewer connections give less, which speaks for it', async () => {
  const { trials } = trialsOf();
  await trials.live();
  const { finding, experiments } = trials.found();
  assert.equal(finding.chosen.limit, 'head-of-line');
  const half = experiments.find(({ name }) => name === 'connections /2');
  assert.ok(half.measured.ratio < 0.6 && half.predicted['head-of-line'].high < 0.7);
});

describe('a remedy that gave much more', () => {
  test('is tried for longer, while the probe rests', async () => {
    const { trials, heard } = trialsOf();
    await trials.live();
    assert.equal(trials.found().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await trials.remedied();
    assert.deepEqual(heard, ['subscribe false', 'depth 1 for longer', 'subscribe true']);
    const { experiment, throughput } = trials.found().remedied;
    assert.deepEqual([experiment, throughput], ['depth 1', 4800]);
  });

  test('is not where no time is left for it', async () => {
    const { trials, heard } = trialsOf({ leftMs: 3500 });
    await trials.live();
    assert.equal(trials.found().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await trials.remedied();
    assert.deepEqual(heard, []);
    assert.equal(trials.found().remedied, null);
  });

  test('and fails for longer is said, and not promised', async () => {
    const repeat = (block) => {
      const { requests } = block.load;
      requests.transportErrors = requests.ok;
      return block;
    };
    const { trials } = trialsOf({ repeat });
    await trials.live();
    await trials.remedied();
    assert.equal(trials.found().remedied, null);
    assert.match(trials.missed.join(), /depth 1 for longer: 50 % of its requests failed/);
  });

  test('and cannot be tried again ends nothing else', async () => {
    const repeat = () => {
      throw new ProbeFailure('the process has gone');
    };
    const { trials, heard } = trialsOf({ repeat });
    await trials.live();
    await trials.remedied();
    assert.equal(trials.found().remedied, null);
    assert.match(
      trials.missed.join(),
      /depth 1 for longer: the probe could not: the process has gone/,
    );
    assert.equal(heard.at(-1), 'subscribe true');
  });
});
