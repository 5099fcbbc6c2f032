// The experiment runner, on a simulated server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MillraceError } from '#internal/errors/millrace-error.js';
import { EXPERIMENTS } from '#internal/explain/experiments/definitions.js';
import { ExperimentRunner } from '#internal/explain/phases/experiment-runner.js';
import { runOnNewServers } from '#internal/explain/phases/restarts.js';
import { ProbeFailure } from '#internal/explain/target/probe-effect.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

/** Metrics of a server where eight requests share each connection, and each waits for the slowest of them. */
function buildPipelinedMetrics() {
  const metrics = structuredClone(buildHealthyMetrics());
  metrics.base.load.plan.pipelining = 8;
  metrics.base.inside.outbound = [];
  Object.assign(metrics, { responseMs: 200, unloadedLatencyMs: 50 });
  return metrics;
}

/** A profile of a loop that works for 1 ms and idles for 3 ms. */
const PROFILE = {
  nodes: ['(root)', '(idle)', 'handler'].map((functionName, index) => ({
    id: index + 1,
    callFrame: {
      ...{ functionName, url: index === 2 ? 'file:///app.js' : '' },
      ...{ lineNumber: 0, columnNumber: 0 },
    },
    children: index === 0 ? [2, 3] : [],
  })),
  samples: [3, 2, 1],
  timeDeltas: [0, 1000, 3000],
};

/**
 * Creates a runner on a server where one request at a time per connection yields four times as much. `repeat` is called
 * for blocks that are repeated for longer, `change` for each block with its load.
 */
function createRunner({
  metrics = buildPipelinedMetrics(),
  repeat = (block) => block,
  change = () => {},
  leftMs = 60_000,
  onCpuProfile = undefined,
  retained = null,
  answer = () => [null],
  processes = [],
  canRestart = false,
} = {}) {
  const heard = [];
  const subject = {
    hub: {
      processes,
      async command(name, { on }) {
        heard.push(on === undefined ? name : `${name} ${on}`);
        return answer();
      },
      async commandEach(name) {
        heard.push(name);
        return [{ pid: 7, profile: PROFILE }];
      },
    },
    options: {},
    responseCount: 0,
    startMs: 100,
    async restart() {
      heard.push('restart');
    },
    async runBlock({ measureMs }, { load, probe } = {}) {
      if (canRestart) heard.push('load');
      const block = structuredClone(metrics.base);
      if (load?.pipelining === 1) block.throughput *= 4;
      else if (load?.connections > metrics.base.load.plan.connections) block.throughput *= 2;
      else if (load?.connections < metrics.base.load.plan.connections) block.throughput /= 2;
      change(block, load);
      const isLong = measureMs >= 2000 && !probe;
      if (!isLong) return block;
      heard.push(`${load?.pipelining === 1 ? 'no-pipelining' : 'another'} for longer`);
      return repeat({ ...block, throughput: 1.2 * block.throughput });
    },
  };
  const setting = {
    hasProbe: true,
    isNativeStack: false,
    canRestart,
    canAddLoad: true,
    socketPath: null,
  };
  const runner = new ExperimentRunner(
    subject,
    { metrics, retained },
    { setting: () => setting, untilMs: performance.now() + leftMs, onCpuProfile, onStep() {} },
  );
  return { runner, heard };
}

test('head-of-line blocking is the verdict if fewer connections yield less', async () => {
  const { runner } = createRunner();
  await runner.runLiveExperiments();
  const { finding, experiments } = runner.result();
  assert.equal(finding.chosen.limit, 'head-of-line');
  const half = experiments.find(({ name }) => name === 'connections-half');
  assert.ok(half.measured.ratio < 0.6 && half.predicted['head-of-line'].high < 0.7);
});

test('the dependency that is compared with twice the connections is not a job queue', async () => {
  const metrics = structuredClone(buildHealthyMetrics());
  const [call] = metrics.base.inside.outbound;
  const jobs = { ...call, origin: 'tcp://queue:6379', rate: 2, answering: 60, answerMs: 900 };
  metrics.base.inside.outbound = [jobs, { ...call, answerMs: 45, answerP50Ms: 45 }];
  metrics.single.inside = structuredClone(metrics.base.inside);
  metrics.single.inside.outbound[1].answerP50Ms = 5;
  Object.assign(metrics, { responseMs: 50, unloadedLatencyMs: 6 });
  const { runner } = createRunner({
    metrics,
    change(block, load) {
      if (load?.connections > metrics.base.load.plan.connections) {
        block.throughput /= 2;
        block.inside.outbound[1].answerMs *= 2;
      }
    },
  });
  await runner.runLiveExperiments();
  const slower = runner
    .result()
    .experiments.find(({ name }) => name === 'dependency-time-connections-x2');
  assert.equal(slower.measured.ratio, 2);
});

test('no ratio is reported if requests of the unchanged load begin to fail', async () => {
  const { runner } = createRunner({
    change({ load: { requests } }, changed) {
      if (!changed) requests.transportErrors = requests.ok;
    },
  });
  await runner.runLiveExperiments();
  assert.deepEqual(runner.result().experiments, []);
  assert.match(
    runner.skippedExperiments.join(),
    /all experiments: 50 % of the requests under the unchanged load failed meanwhile, at first 0 %/,
  );
});

test('an experiment that failed excludes no limit, and is reported', async () => {
  const { runner } = createRunner({
    change(_, load) {
      if (load?.pipelining === 1) throw new ProbeFailure('most calls cannot be delayed');
    },
  });
  await runner.runLiveExperiments();
  const names = runner.result().experiments.map(({ name }) => name);
  assert.ok(names.length > 0 && !names.includes('no-pipelining'), names.join());
  assert.match(runner.skippedExperiments.join(), /no pipelining: .*most calls cannot be delayed/);
});

test('a server that does not start with a change is restarted without it', async () => {
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
  const experiment = EXPERIMENTS.find(({ name }) => name === 'thread-pool-x4');
  const why = await runOnNewServers(experiment, metrics, subject, { settleMs: 0, measureMs: 1 });
  assert.equal(why, 'the server does not start with this change: it exited with 9');
  assert.deepEqual(starts, [['UV_THREADPOOL_SIZE'], []]);
});

describe('a remedy that gained much', () => {
  test('is repeated for longer while the probe is paused', async () => {
    const { runner, heard } = createRunner();
    await runner.runLiveExperiments();
    assert.equal(runner.result().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await runner.repeatRemedy();
    assert.deepEqual(heard, ['subscribe false', 'no-pipelining for longer', 'subscribe true']);
    const { experiment, throughput } = runner.result().repeatedRemedy;
    assert.deepEqual([experiment, throughput], ['no-pipelining', 4800]);
  });

  test('is not repeated if no time is left', async () => {
    const { runner, heard } = createRunner({ leftMs: 3500 });
    await runner.runLiveExperiments();
    assert.equal(runner.result().finding.chosen.limit, 'head-of-line');
    heard.length = 0;
    await runner.repeatRemedy();
    assert.deepEqual(heard, []);
    assert.equal(runner.result().repeatedRemedy, null);
  });

  test('is reported and not predicted if its requests fail in the repetition', async () => {
    const repeat = (block) => {
      const { requests } = block.load;
      requests.transportErrors = requests.ok;
      return block;
    };
    const { runner } = createRunner({ repeat });
    await runner.runLiveExperiments();
    await runner.repeatRemedy();
    assert.equal(runner.result().repeatedRemedy, null);
    assert.match(
      runner.skippedExperiments.join(),
      /no pipelining for longer: 50 % of its requests failed/,
    );
  });

  test('does not end the run if it cannot be repeated', async () => {
    const repeat = () => {
      throw new ProbeFailure('the process has gone');
    };
    const { runner, heard } = createRunner({ repeat });
    await runner.runLiveExperiments();
    await runner.repeatRemedy();
    assert.equal(runner.result().repeatedRemedy, null);
    assert.match(
      runner.skippedExperiments.join(),
      /no pipelining for longer: the probe failed: the process has gone/,
    );
    assert.equal(heard.at(-1), 'subscribe true');
  });
});

describe('what requests allocate', () => {
  const FRAME = { functionName: 'keep', url: 'file:///srv/app.js', lineNumber: 2, columnNumber: 0 };
  const tree = { frames: [FRAME, FRAME], parents: [-1, 0], frameOf: [0, 1], bytes: [0, 5000] };
  const profile = { pid: 1, requests: 5, tree, outsideBytes: 0 };

  /** Creates a runner on a server whose heap grew by so many bytes in 1000 requests. */
  const createGrowing = (grownBytes, { answer = () => [profile], leftMs } = {}) =>
    createRunner({
      metrics: buildHealthyMetrics(),
      retained: { requests: 1000, beforeBytes: 0, afterBytes: grownBytes },
      answer,
      leftMs,
    });

  test('is sampled if memory grows, and heaps are not compared of a server that runs already', async () => {
    const { runner, heard } = createGrowing(50e6);
    await runner.functions.sample();
    await runner.functions.compareHeaps();
    assert.deepEqual(
      heard.filter((what) => !/longer/.test(what)),
      ['inlining false', 'allocations', 'inlining true'],
    );
    const { allocations } = runner.result();
    assert.deepEqual([allocations.heaviest[0].weight, allocations.growth], [1000, null]);
    assert.match(
      runner.skippedExperiments.join(),
      /^what grows: heap snapshots are taken only of servers that millrace starts/,
    );
  });

  test('is sampled on a new server, which has its first requests before it gets a command', async () => {
    const { runner, heard } = createRunner({
      metrics: buildHealthyMetrics(),
      retained: { requests: 1000, beforeBytes: 0, afterBytes: 50e6 },
      answer: () => [profile],
      canRestart: true,
    });
    await runner.functions.sample();
    assert.deepEqual(
      heard.filter((what) => !/longer/.test(what)),
      ['restart', 'load', 'inlining false', 'load', 'allocations', 'load', 'inlining true'],
    );
  });

  test('is not sampled if memory is no limit', async () => {
    const { runner } = createGrowing(0);
    await runner.functions.sample();
    await runner.functions.compareHeaps();
    assert.equal(runner.result().allocations, null);
    assert.deepEqual(runner.skippedExperiments, []);
  });

  test('is not known without time or an answer, which is reported', async () => {
    for (const [how, reason] of [
      [{ leftMs: 1000 }, /^allocations: no time left/],
      [{ answer: () => [] }, /^allocations: no request ended meanwhile/],
      [{ answer: () => Promise.reject(new Error('gone')) }, /^allocations: the probe failed: gone/],
    ]) {
      const { runner } = createGrowing(50e6, how);
      await runner.functions.sample();
      assert.equal(runner.result().allocations, null);
      assert.match(runner.skippedExperiments.join(), reason);
    }
  });
});

test('with few responses only what is sampled is a verdict: what the thread pool is occupied by', () => {
  const build = (resources) => {
    const metrics = structuredClone(buildHealthyMetrics());
    // Two look-ups of 3 s each at a time.
    Object.assign(metrics, {
      throughput: 0.7,
      inFlight: 20,
      maxConcurrency: 20,
      responseMs: 28_000,
    });
    Object.assign(metrics.base.load.requests, { ok: 4, statusErrors: 0 });
    metrics.base.inside = { ...metrics.base.inside, resources };
    return createRunner({ metrics }).runner.result().finding;
  };
  const found = build({ GetAddrInfoReqWrap: 19 });
  assert.deepEqual([found.status, found.chosen?.limit], ['likely', 'threadpool']);
  assert.equal(build({}).status, 'cannot-tell');
});

test('the CPU profile of a loop that is not busy has a graph, and nothing for limits of a busy one', async () => {
  const metrics = buildPipelinedMetrics();
  metrics.base.inside.utilization = 0.25;
  const { runner } = createRunner({ metrics });
  await runner.takeProfile();
  const { cpu, hotFunctions, metrics: after } = runner.result();
  assert.deepEqual([cpu.pid, cpu.busy, cpu.graph.self], [7, 0.25, [1]]);
  assert.deepEqual([hotFunctions, after.loopTime], [[], null]);
});

test('a CPU profile needs time, which is reserved where the loop is busy or the caller wants one', async () => {
  for (const [utilization, isWanted, expected] of [
    [0.25, false, false],
    [0.25, true, true],
    [0.9, false, true],
  ]) {
    const metrics = buildPipelinedMetrics();
    metrics.base.inside.utilization = utilization;
    const profiles = [];
    const wanted = isWanted ? { onCpuProfile: (profile) => profiles.push(profile) } : {};
    const { runner } = createRunner({ metrics, leftMs: 500, ...wanted });
    await runner.takeProfile();
    const { cpu, skippedExperiments } = runner.result();
    assert.equal(cpu !== null, expected, `${utilization} ${isWanted}`);
    assert.equal(
      /the CPU time by function: no time left/.test(skippedExperiments.join()),
      !expected,
    );
    assert.deepEqual(profiles, isWanted ? [PROFILE] : []);
  }
});

describe('the CPU profile of a busy loop', () => {
  const profileOn = async (nodeVersion, how = {}) => {
    const metrics = buildPipelinedMetrics();
    metrics.base.inside.utilization = 0.9;
    const processes = [{ pid: 7, serving: true, nodeVersion }];
    const profiles = [];
    const onCpuProfile = (profile) => profiles.push(profile);
    const { runner, heard } = createRunner({ metrics, processes, onCpuProfile, ...how });
    await runner.takeProfile();
    await runner.functions.sample();
    return {
      ...{ profiles, skipped: runner.skippedExperiments.join() },
      heard: heard.filter((what) => !/longer/.test(what)),
    };
  };

  test('is taken again with inlining off where Node.js counts inlined functions for their callers', async () => {
    const { heard, profiles } = await profileOn('v24.1.0');
    assert.deepEqual(heard, ['profile', 'inlining false', 'profile', 'inlining true']);
    assert.equal(profiles.length, 2);
  });

  test('is taken once where Node.js names inlined functions', async () => {
    const { heard, profiles } = await profileOn('v26.0.0');
    assert.deepEqual(heard, ['profile']);
    assert.equal(profiles.length, 1);
  });

  test('is not taken again without time, which is reported', async () => {
    const { heard, skipped } = await profileOn('v20.1.0', { leftMs: 2500 });
    assert.deepEqual(heard, ['profile']);
    assert.match(skipped, /the CPU time of inlined functions: no time left/);
  });
});
