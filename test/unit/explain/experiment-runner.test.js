// What the trials do with a server that gives what they are told to find.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MillraceError } from '../../../dist/errors.js';
import { EXPERIMENTS } from '../../../dist/explain/experiments/definitions.js';
import { ExperimentRunner } from '../../../dist/explain/phases/experiment-runner.js';
import { runOnNewServers } from '../../../dist/explain/target/restarts.js';
import { ProbeFailure } from '../../../dist/explain/target/server-under-test.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

/** Of a server where eight requests share each connection, and each waits for the slowest of them. */
function buildPipelinedMetrics() {
  const metrics = structuredClone(buildHealthyMetrics());
  metrics.base.load.plan.pipelining = 8;
  metrics.base.inside.outbound = [];
  Object.assign(metrics, { responseMs: 200, unloadedLatencyMs: 50 });
  return metrics;
}

/**
 * Trials of it: one request at a time on a connection gives four times as much. `repeat` is told what is tried for longer,
 * `change` what load each block has.
 */
function trialsOf({
  metrics = buildPipelinedMetrics(),
  repeat = (block) => block,
  change = () => {},
  leftMs = 60_000,
} = {}) {
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
    responseCount: 0,
    async runBlock({ measureMs }, { load, probe } = {}) {
      const block = structuredClone(metrics.base);
      if (load?.pipelining === 1) block.throughput *= 4;
      else if (load?.connections > metrics.base.load.plan.connections) block.throughput *= 2;
      else if (load?.connections < metrics.base.load.plan.connections) block.throughput /= 2;
      change(block, load);
      const isLong = measureMs >= 2000 && !probe;
      if (!isLong) return block;
      heard.push(`${load?.pipelining === 1 ? 'depth 1' : 'another'} for longer`);
      return repeat({ ...block, throughput: 1.2 * block.throughput });
    },
  };
  const setting = {
    hasProbe: true,
    isNativeStack: false,
    canRestart: false,
    canAddLoad: true,
    socketPath: null,
  };
  const trials = new ExperimentRunner(
    subject,
    { metrics, retained: null },
    { setting: () => setting, untilMs: performance.now() + leftMs, onStep() {} },
  );
  return { trials, heard };
}

test('requests that wait for others on their connection: fewer connections give less, which speaks for it', async () => {
  const { trials } = trialsOf();
  await trials.runLiveExperiments();
  const { finding, experiments } = trials.result();
  assert.equal(finding.chosen.limit, 'head-of-line');
  const half = experiments.find(({ name }) => name === 'connections /2');
  assert.ok(half.measured.ratio < 0.6 && half.predicted['head-of-line'].high < 0.7);
});

test('a dependency is the same one with twice the connections, whatever waits for jobs beside it', async () => {
  const metrics = structuredClone(buildHealthyMetrics());
  const [call] = metrics.base.inside.outbound;
  const jobs = { ...call, origin: 'tcp://queue:6379', rate: 2, answering: 60, answerMs: 900 };
  metrics.base.inside.outbound = [jobs, { ...call, answerMs: 45, answerP50Ms: 45 }];
  metrics.single.inside = structuredClone(metrics.base.inside);
  metrics.single.inside.outbound[1].answerP50Ms = 5;
  Object.assign(metrics, { responseMs: 50, unloadedLatencyMs: 6 });
  const { trials } = trialsOf({
    metrics,
    change(block, load) {
      if (load?.connections > metrics.base.load.plan.connections) {
        block.throughput /= 2;
        block.inside.outbound[1].answerMs *= 2;
      }
    },
  });
  await trials.runLiveExperiments();
  const slower = trials
    .result()
    .experiments.find(({ name }) => name === 'dependency, connections x2');
  assert.equal(slower.measured.ratio, 2);
});

test('requests that begin to fail as they were asked for leave no ratios', async () => {
  const { trials } = trialsOf({
    change({ load: { requests } }, changed) {
      if (!changed) requests.transportErrors = requests.ok;
    },
  });
  await trials.runLiveExperiments();
  assert.deepEqual(trials.result().experiments, []);
  assert.match(
    trials.skippedExperiments.join(),
    /all experiments: 50 % of the requests under the unchanged load failed meanwhile, at first 0 %/,
  );
});

test('an experiment that did not take place excludes nobody, and is named', async () => {
  const { trials } = trialsOf({
    change(_, load) {
      if (load?.pipelining === 1) throw new ProbeFailure('most calls cannot be delayed');
    },
  });
  await trials.runLiveExperiments();
  const names = trials.result().experiments.map(({ name }) => name);
  assert.ok(names.length > 0 && !names.includes('depth 1'), names.join());
  assert.match(trials.skippedExperiments.join(), /depth 1: .*most calls cannot be delayed/);
});

test('a server that does not start with what is tried is started as it was', async () => {
  const metrics = buildHealthyMetrics();
  const starts = [];
  const subject = {
    options: {},
    async restart(environment = {}) {
      starts.push(Object.keys(environment));
      if (environment.UV_THREADPOOL_SIZE === undefined) return;
      throw new MillraceError('ERR_MILLRACE_COMMAND', 'it exited with 9');
    },
    block: async () => metrics.base,
  };
  const experiment = EXPERIMENTS.find(({ name }) => name === 'thread pool x4');
  const why = await runOnNewServers(experiment, metrics, subject, { settleMs: 0, measureMs: 1 });
  assert.equal(why, 'the server does not start with this change: it exited with 9');
  assert.deepEqual(starts, [['UV_THREADPOOL_SIZE'], []]);
});

describe('a remedy that gave much more', () => {
  test('is tried for longer, while the probe rests', async () => {
    const { trials, heard } = trialsOf();
    await trials.runLiveExperiments();
    assert.equal(trials.result().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await trials.repeatRemedy();
    assert.deepEqual(heard, ['subscribe false', 'depth 1 for longer', 'subscribe true']);
    const { experiment, throughput } = trials.result().repeatedRemedy;
    assert.deepEqual([experiment, throughput], ['depth 1', 4800]);
  });

  test('is not where no time is left for it', async () => {
    const { trials, heard } = trialsOf({ leftMs: 3500 });
    await trials.runLiveExperiments();
    assert.equal(trials.result().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await trials.repeatRemedy();
    assert.deepEqual(heard, []);
    assert.equal(trials.result().repeatedRemedy, null);
  });

  test('and fails for longer is said, and not promised', async () => {
    const repeat = (block) => {
      const { requests } = block.load;
      requests.transportErrors = requests.ok;
      return block;
    };
    const { trials } = trialsOf({ repeat });
    await trials.runLiveExperiments();
    await trials.repeatRemedy();
    assert.equal(trials.result().repeatedRemedy, null);
    assert.match(
      trials.skippedExperiments.join(),
      /depth 1 for longer: 50 % of its requests failed/,
    );
  });

  test('and cannot be tried again ends nothing else', async () => {
    const repeat = () => {
      throw new ProbeFailure('the process has gone');
    };
    const { trials, heard } = trialsOf({ repeat });
    await trials.runLiveExperiments();
    await trials.repeatRemedy();
    assert.equal(trials.result().repeatedRemedy, null);
    assert.match(
      trials.skippedExperiments.join(),
      /depth 1 for longer: the probe failed: the process has gone/,
    );
    assert.equal(heard.at(-1), 'subscribe true');
  });
});
