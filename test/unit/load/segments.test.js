// Shares of a run: which one a process is, and what of the plan is its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { request, scenario } from 'millrace/scenario';
import { buildPlan } from '#internal/load/plan/plan.js';
import { readSegment } from '#internal/load/plan/segments/read-segment.js';
import { readStartAt } from '#internal/load/plan/start-at.js';

const url = 'http://127.0.0.1:8080/';

/** The plans of all shares. */
function plansOf(count, options) {
  const shares = Array.from({ length: count }, (_, index) => `${index + 1}/${count}`);
  return Promise.all(shares.map((segment) => buildPlan({ url, seed: 1, segment, ...options })));
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Reads `segment: 'auto'` with these variables alone. */
function readAuto(env) {
  const names = ['JOB_COMPLETION_INDEX', 'MILLRACE_SEGMENTS', 'SLURM_PROCID', 'SLURM_NTASKS'];
  const mpi = ['OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE', 'PMI_RANK', 'PMI_SIZE'];
  const all = [...names, ...mpi];
  const before = all.map((name) => [name, process.env[name]]);
  for (const name of all) delete process.env[name];
  Object.assign(process.env, env);
  try {
    return readSegment({ segment: 'auto', seed: 1 });
  } finally {
    for (const [name, value] of before) {
      delete process.env[name];
      if (value !== undefined) process.env[name] = value;
    }
  }
}

test('a closed run is divided: remainders go to the first shares', async () => {
  const plans = await plansOf(3, { connections: 10, requests: 100, threads: 4 });
  assert.deepEqual(
    plans.map(({ summary }) => [summary.connections, summary.requests, summary.threads]),
    [
      [4, 34, 4],
      [3, 33, 3],
      [3, 33, 3],
    ],
  );
  for (const { native, summary } of plans) {
    assert.equal(native.connections, summary.connections);
    assert.equal(native.maxRequests, summary.requests);
    assert.deepEqual(summary.segment.whole, {
      connections: 10,
      initialConnections: 10,
      connectionStages: [],
      rate: null,
      stages: [],
      requests: 100,
      maxPending: null,
    });
  }
  assert.deepEqual(
    plans.map(({ native }) => [native.segment, native.segments]),
    [
      [0, 3],
      [1, 3],
      [2, 3],
    ],
  );
});

test('the engine has the schedule of the whole run, the result has the rate of the share', async () => {
  const stages = [{ duration: '1s', rate: 300 }];
  const plans = await plansOf(4, { rate: 100, stages, connections: 40, maxPending: 10 });
  for (const { native, summary } of plans) {
    assert.deepEqual([native.startRate, native.stages[0].rate], [100, 300]);
    assert.deepEqual([summary.rate, summary.stages[0].rate], [25, 75]);
    assert.equal(summary.segment.whole.rate, 100);
  }
  for (const key of ['connections', 'initialConnections', 'maxPending']) {
    assert.equal(
      sum(plans.map(({ summary }) => summary[key])),
      plans[0].summary.segment.whole[key],
    );
  }
});

test('in an open run each thread of a share has a connection to each server', async () => {
  const urls = [url, 'http://127.0.0.1:8081/'];
  const plans = await plansOf(3, { url: urls, rate: 10, connections: 16, threads: 8 });
  assert.deepEqual(
    plans.map(({ summary }) => [summary.connections, summary.threads]),
    [
      [6, 3],
      [5, 2],
      [5, 2],
    ],
  );
});

test('stages of connections and users of scenarios are divided', async () => {
  const connectionStages = [{ duration: '1s', connections: 9 }];
  const plans = await plansOf(2, { connections: 5, connectionStages });
  assert.deepEqual(
    plans.map(({ native }) => [native.initialConnections, native.connectionStages[0].connections]),
    [
      [3, 5],
      [2, 4],
    ],
  );

  const users = await plansOf(3, {
    scenario: scenario('s', [request('r', 'GET /')]),
    users: 7,
  });
  assert.deepEqual(
    users.map(({ native, summary }) => [native.flows.users, summary.flows.users]),
    [
      [3, 3],
      [2, 2],
      [2, 2],
    ],
  );
});

test('ranks of Slurm, MPI and Kubernetes count from 0', () => {
  assert.deepEqual(readAuto({ SLURM_PROCID: '2', SLURM_NTASKS: '3' }), { index: 3, count: 3 });
  assert.deepEqual(readAuto({ OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '2' }), {
    index: 1,
    count: 2,
  });
  assert.deepEqual(readAuto({ PMI_RANK: '1', PMI_SIZE: '2' }), { index: 2, count: 2 });
  // A Job's own index says more than the rank that its node may have set.
  const job = { JOB_COMPLETION_INDEX: '4', MILLRACE_SEGMENTS: '5', PMI_RANK: '0', PMI_SIZE: '1' };
  assert.deepEqual(readAuto(job), { index: 5, count: 5 });
});

test('a rank that is no rank is refused in one line', () => {
  const cases = [
    [{}, /^segment 'auto' found no rank in the environment: it knows JOB_COMPLETION_INDEX/],
    [
      { JOB_COMPLETION_INDEX: '0' },
      /JOB_COMPLETION_INDEX is set and MILLRACE_SEGMENTS, the number of shares, is not/,
    ],
    [{ SLURM_PROCID: '3', SLURM_NTASKS: '3' }, /SLURM_PROCID must be below SLURM_NTASKS/],
    [{ PMI_RANK: 'x', PMI_SIZE: '2' }, /PMI_RANK must be a whole number \(got 'x'\)/],
  ];
  for (const [env, message] of cases) {
    assert.throws(() => readAuto(env), { code: 'ERR_MILLRACE_USAGE', message });
  }
});

test('shares that cannot be run are refused in one line', async () => {
  const seed = 1;
  const cases = [
    [{ segment: '0/3', seed }, /^segment counts from 1: 1\/3 to 3\/3 \(got '0\/3'\)$/],
    [{ segment: '4/3', seed }, /^segment must be a share such as 2\/3, .*\(got '4\/3'\)$/],
    [{ segment: 'third', seed }, /^segment must be a share such as 2\/3/],
    [{ segment: '1/3' }, /^segment needs seed/],
    [{ segment: '1/3', seed, connections: 2 }, /connections of the whole run must be at least 3/],
    [
      { segment: '1/3', seed, url: [url, 'http://127.0.0.1:8081/'], rate: 10, connections: 5 },
      /must be at least 6, one for each of 3 shares and 2 servers \(got 5\)$/,
    ],
    [{ segment: '1/3', seed, requests: 2, connections: 9 }, /must be at least 3, one for each/],
    [
      { segment: '1/2', seed, url: undefined, command: 'node x.js' },
      /cannot be combined with a command/,
    ],
  ];
  for (const [options, message] of cases) {
    await assert.rejects(load({ url, ...options }), { code: 'ERR_MILLRACE_USAGE', message });
  }
});

test('instants are read', () => {
  assert.equal(readStartAt('2030-01-31T12:00:00Z', 'x'), Date.UTC(2030, 0, 31, 12));
  assert.equal(readStartAt('2030-01-31T13:00:00.5+01:00', 'x'), Date.UTC(2030, 0, 31, 12) + 500);
  const ago = Date.now() - 60_000;
  assert.equal(readStartAt(new Date(ago), 'x'), ago);
  assert.equal(readStartAt(ago + 0.5, 'x'), ago + 0.5);
  assert.throws(() => readStartAt('2020-01-01T00:00:00Z', 'x'), /at most an hour ago \(got '2020/);
  assert.equal(readStartAt(undefined, 'x'), null);
  const inTenSeconds = readStartAt('+10s', 'x') - Date.now();
  assert.ok(inTenSeconds > 9_000 && inTenSeconds < 11_000, String(inTenSeconds));
  for (const text of ['tomorrow', '12:00', '', '2030-13-45T99:00:00Z']) {
    assert.throws(() => readStartAt(text, 'startAt'), /^MillraceError: startAt must be an instant/);
  }
  assert.throws(() => readStartAt('2030-01-31T12:00:00', 'startAt'), /needs a time zone/);
  assert.throws(() => readStartAt('+10', 'startAt'), /needs a unit/);
  assert.throws(() => readStartAt(Number.NaN, 'startAt'), /must be an instant/);
});
