// A load on several machines that have Node alone, or of which one stands still or loses its network.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noSshd, startMachines } from '../fixtures/hosts/sshd.js';
import { millraceJson, startMillrace } from '../fixtures/truth/cli.js';

const NAMES = ['one', 'two', 'three'];

/** Starts a server, and calls `onRequest` at each request; resolves with its URL. */
async function startServer(t, address, onRequest = () => {}) {
  const server = createServer((_, response) => {
    onRequest();
    response.end('ok');
  });
  server.listen(0, address);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://${address}:${server.address().port}/`;
}

/** Runs a load on machines, calls `disturb` when it is under way, and returns its end and the machines. */
async function run(t, disturb) {
  const machines = await startMachines(NAMES);
  t.after(() => machines.close());
  let count = 0;
  let resolve;
  const isUnderWay = new Promise((done) => {
    resolve = done;
  });
  const url = await startServer(t, machines.address, () => {
    count += 1;
    if (count === 60) resolve();
  });
  const args = ['--json', '--ssh', machines.ssh, '--hosts', NAMES.join(',')];
  const started = startMillrace([...args, '-R', '150', '-d', '3s', url]);
  await isUnderWay;
  disturb(machines);
  return { ...(await started.ended), machines };
}

function assertOthers({ code, stdout, stderr }) {
  assert.equal(code, 4, stderr);
  assert.match(stderr, /^millrace: two: nothing was heard for 10 s: the machine or its network/);
  const result = JSON.parse(stdout);
  const { sent, notSent } = result.requests;
  assert.equal(sent + notSent.queuedAtEnd, 300);
  assert.deepEqual(result.missing, [2]);
}

test('--copy brings millrace to machines that have Node alone, and takes it away', {
  timeout: 60_000,
  skip: noSshd,
}, async (t) => {
  const machines = await startMachines(NAMES);
  t.after(() => machines.close());
  for (const name of NAMES) machines.byName[name].remove('millrace');
  const url = await startServer(t, machines.address);
  const hosts = ['--ssh', machines.ssh, '--hosts', NAMES.join(',')];
  const { code, result, stderr } = await millraceJson([...hosts, '--copy', '-n', '30', url]);
  assert.equal(code, 0, stderr);
  assert.equal(result.requests.ok, 30);
  assert.deepEqual(
    NAMES.flatMap((name) => machines.byName[name].files()),
    [],
  );
});

describe('hosts that are silent', { timeout: 120_000, skip: noSshd }, () => {
  test('a machine that stands still is given up', async (t) => {
    let stopped;
    const ended = await run(t, ({ byName }) => {
      [stopped] = byName.two.agents();
      process.kill(stopped, 'SIGSTOP');
    });
    assertOthers(ended);
    process.kill(stopped, 'SIGCONT');
    await assertEnded(ended.machines);
  });

  test('a machine without network is given up, and ends its run', async (t) => {
    const ended = await run(t, ({ byName, kind }) => {
      if (kind === 'network namespaces') byName.two.cut();
      else t.skip('needs network namespaces');
    });
    if (ended.machines.kind !== 'network namespaces') return;
    assertOthers(ended);
    await assertEnded(ended.machines);
  });
});

/** Asserts that the agents end by themselves. */
async function assertEnded({ byName }) {
  const list = () => NAMES.flatMap((name) => byName[name].agents());
  const deadline = performance.now() + 30_000;
  while (list().length > 0 && performance.now() < deadline) await sleep(100);
  assert.deepEqual(list(), []);
}
