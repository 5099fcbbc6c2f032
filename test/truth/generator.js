// The generator about itself: it says when it was the limit, and only then.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { load } from 'millrace';
import { millraceJson } from './cli.js';
import { forkedTruthServer } from './fork.js';

const canPin = availableParallelism() >= 2 && hasTaskset();

/** Keeps a core busy, twice over. */
function burn(t, core) {
  for (let n = 0; n < 2; n++) {
    const child = spawn('taskset', ['-c', `${core}`, process.execPath, '-e', 'for (;;);']);
    t.after(() => child.kill('SIGKILL'));
  }
}

function hasTaskset() {
  try {
    execFileSync('taskset', ['-c', '0', 'true']);
    return true;
  } catch {
    return false;
  }
}

test('starved of its core: CLIENT-BOUND, and exit 4 under --strict', {
  skip: !canPin,
}, async (t) => {
  const server = await forkedTruthServer(t, 'ok', [], { core: 0 });
  burn(t, 1);
  const via = ['taskset', '-c', '1'];
  const args = ['--strict', '-c', '20', '-d', '1', server.url];
  const { code, result } = await millraceJson(args, { via });
  assert.equal(code, 4);
  const { clientBound, reasons, starved } = result.generator;
  assert.equal(clientBound, true);
  assert.ok(starved > 0.2, `without a core ${starved} of the time`);
  assert.match(reasons.join('\n'), /waited for a core/);
  assert.match(result.warnings[0].message, /^CLIENT-BOUND/);
});

test('starved of its core in an open run: what it sent late, it says', {
  skip: !canPin,
}, async (t) => {
  const server = await forkedTruthServer(t, 'ok', [], { core: 0 });
  burn(t, 1);
  const args = ['-R', '5000', '-c', '20', '-d', '1', server.url];
  const { result } = await millraceJson(args, { via: ['taskset', '-c', '1'] });
  const { clientBound, latenessMs } = result.generator;
  assert.equal(clientBound, true);
  assert.ok(latenessMs.p99 > 1, `lateness p99 ${latenessMs.p99}`);
});

test('not starved, against a slow server: not CLIENT-BOUND', async (t) => {
  const server = await forkedTruthServer(t, 'delay', [100]);
  const result = await load({ url: server.url, connections: 2, duration: '1s' });
  const { clientBound, busy, reasons } = result.generator;
  assert.deepEqual(reasons, []);
  assert.equal(clientBound, false);
  assert.ok(busy < 0.2, `busy ${busy}`);
});

test('the server is found by its port, and its time is not the generator’s', async (t) => {
  const server = await forkedTruthServer(t, 'ok');
  const result = await load({ url: server.url, connections: 2, duration: '1s' });
  assert.equal(result.server.pid, server.child.pid);
  assert.equal(result.server.source, 'port-owner');
  assert.ok(result.server.cpuMean > 0.2, `${result.server.cpuMean} cores`);
});
