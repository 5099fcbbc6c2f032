// Shares of a run by Slurm: a controller and two nodes on this machine, three tasks, one result.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startCluster, whyNoCluster } from '../fixtures/slurm/cluster.js';
import { BIN, millrace } from '../fixtures/truth/cli.js';
import { ok } from '../fixtures/truth/scripts.js';
import { truthServer } from '../fixtures/truth/server.js';

const skip = await whyNoCluster();
const folder = mkdtempSync(join(tmpdir(), 'millrace-srun-'));
after(() => rmSync(folder, { recursive: true }));

describe('srun', { skip, timeout: 180_000 }, () => {
  let cluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster.stop());

  /** Runs three tasks on both nodes. */
  const srun = (args, options = []) =>
    cluster.srun(['-N', '2', '-n', '3', ...options, process.execPath, BIN, 'load', ...args]);
  const share = (url) => [
    ...[`${url}{{seq}}`, '--segment', 'auto', '--seed', '7', '--no-progress'],
    ...['-R', '90', '-n', '60', '-c', '6', '--start-at', new Date(Date.now() + 4000).toISOString()],
  ];
  const planned = Array.from({ length: 60 }, (_, seq) => `/${seq}`).sort();

  test('starts shares that write a file each, and together send what one run sends', async (t) => {
    const server = await truthServer(t, ok());
    await srun([...share(server.url), '-o', join(folder, 'result-{segment}.json')]);
    const files = readdirSync(folder).sort();
    assert.deepEqual(files, ['result-1.json', 'result-2.json', 'result-3.json']);
    assert.deepEqual(server.requests.map(({ target }) => target).sort(), planned);
    const merged = await millrace(['merge', '--json', ...files.map((file) => join(folder, file))]);
    assert.equal(merged.code, 0, merged.stderr);
    const { requests, generators, plan } = JSON.parse(merged.stdout);
    assert.equal(requests.ok, 60);
    assert.equal(plan.rate, 90);
    assert.equal(generators.length, 3);
  });

  test('labels the lines of three results in one stream, which are one result', async (t) => {
    const server = await truthServer(t, ok());
    const { stdout } = await srun([...share(server.url), '--log-result'], ['--label']);
    assert.match(stdout, /^2: -----BEGIN MILLRACE RESULT/m);
    const merged = await millrace(['merge', '-', '--json'], { input: stdout });
    assert.equal(merged.code, 0, merged.stderr);
    assert.equal(JSON.parse(merged.stdout).requests.ok, 60);
  });
});
