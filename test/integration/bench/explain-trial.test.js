import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runTrial } from '../../../bench/explain/trial.js';

/** In place of the command line: an explanation that names the knee 40, and a load of 10/s for each connection. */
const STUB = `
const words = process.argv.slice(2);
const connections = Number(words[words.indexOf('-c') + 1]);
if (words[0] !== 'explain') {
  // Each run finds the machine twice as fast, where it is told to grow.
  const file = process.env.GROWS && require('node:path').join(__dirname, 'runs');
  const fs = require('node:fs');
  if (file) fs.appendFileSync(file, 'x');
  const speed = file ? 2 ** (fs.readFileSync(file).length - 1) : 1;
  console.log(JSON.stringify({ startedAt: new Date(), durationMs: 1, throughput: { mean: 10 * connections * speed } }));
} else if (process.env.FAIL) {
  console.error('Error: not today');
  process.exitCode = 1;
} else {
  const verdict = { limit: 'too-few-connections', status: 'confirmed', alsoLimiting: [], sentence: '' };
  const alternatives = [{ change: 'more processes', predictedThroughput: { low: 800, high: 900 } }];
  const remedy = { predictedThroughput: { low: 300, high: 340 }, alternatives };
  console.log(JSON.stringify({ words, load: { throughput: 1 }, verdict, remedy, capacity: { knee: 39.2 } }));
}
`;

const bench = {
  name: 'timer',
  service: 'timer',
  flags: ['-c', '20'],
  paths: ['/', '/b'],
  env: {},
  node: ['--no-deprecation'],
  shell: 'ulimit -n 60',
  expected: ['too-few-connections'],
  partly: [],
  remedy: { connections: 'knee', flags: ['-c', '500'] },
};

async function tried(t, changes = {}, doctor = false) {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const cli = join(directory, 'stub.cjs');
  writeFileSync(cli, STUB);
  chmodSync(cli, 0o755);
  return runTrial({ ...bench, ...changes }, { cli, budgetSeconds: 7, directory, doctor });
}

test('a trial explains, measures the remedy and judges', async (t) => {
  const { judged, explanation, doctor, failure } = await tried(t, {}, true);
  assert.equal(failure, null);
  assert.equal(judged.outcome, 'right');
  assert.equal(judged.prediction.measured, 400);
  assert.ok(Math.abs(judged.prediction.error - 0.2) < 1e-12);
  assert.deepEqual(doctor, { category: 'unknown', fits: false });
  const { words } = explanation;
  const dashes = words.indexOf('--');
  const port = /^http:\/\/127\.0\.0\.1:(\d+)\/$/.exec(words[dashes - 2])[1];
  assert.deepEqual(words.slice(0, dashes), [
    ...['explain', '--budget', '7s', '-c', '20', '--json'],
    ...[`http://127.0.0.1:${port}/`, `http://127.0.0.1:${port}/b`],
  ]);
  const command = words.slice(dashes + 1);
  assert.deepEqual(command.slice(0, 4), ['sh', '-c', 'ulimit -n 60 && exec "$@"', 'sh']);
  assert.deepEqual(command.slice(4, 6), [process.execPath, '--no-deprecation']);
  assert.match(command[6], /services\/timer\.js$/);
});

test('a machine that becomes faster is told by the service as it is', async (t) => {
  const { judged } = await tried(t, { env: { GROWS: '1' } });
  // Before, between, the remedy, after: 200, 400, 40 connections x 10 x 4, 200 x 8.
  const drift = (400 + 1600) / (200 + 400);
  assert.ok(Math.abs(judged.prediction.drift - drift) < 1e-12, `${judged.prediction.drift}`);
  assert.ok(Math.abs(judged.prediction.measured - 1600 / drift) < 1e-9);
});

test('without a knee the remedy takes its own connections', async (t) => {
  const { judged } = await tried(t, { remedy: { flags: ['-c', '500'] } });
  assert.equal(judged.prediction.measured, 5000);
});

test('a remedy that removes another limit is neither measured nor compared', async (t) => {
  const other = { ...bench.remedy, of: ['errors'] };
  const { judged, levels, doctor } = await tried(t, { remedy: other });
  assert.equal(judged.outcome, 'right');
  assert.equal(judged.prediction, null);
  assert.ok(levels.before > 0);
  assert.deepEqual([levels.between, levels.after, doctor], [null, null, null]);
  const none = await tried(t, { remedy: { ...bench.remedy, of: [] } });
  assert.deepEqual(none.levels, { before: null, between: null, after: null });
});

test('the change that the case makes is the one that is compared', async (t) => {
  const { judged } = await tried(t, { remedy: { ...bench.remedy, promise: 'more processes' } });
  assert.deepEqual(judged.prediction.predicted, { low: 800, high: 900 });
});

test('an explanation that fails is a failure with its reason', async (t) => {
  const { judged, explanation, failure } = await tried(t, { env: { FAIL: '1' } });
  assert.equal(judged.outcome, 'failed');
  assert.equal(explanation, null);
  assert.equal(failure, 'Error: not today');
});
