// A load on several machines that have Node alone, or of which one stands still or loses its network.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadOnHosts } from 'millrace';
import { noSshd, startMachines } from '../fixtures/hosts/sshd.js';
import { millrace, millraceJson, startMillrace } from '../fixtures/truth/cli.js';

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

describe('a run on hosts that ends before it began, or with what began it', {
  timeout: 120_000,
  skip: noSshd,
}, () => {
  let machines;
  let flags;
  before(async () => {
    if (noSshd) return;
    machines = await startMachines(NAMES);
    flags = ['--ssh', machines.ssh, '--hosts', NAMES.join(',')];
  });
  after(() => machines?.close());

  test('nothing is left when the machine that began is gone', async (t) => {
    let resolve;
    const isUnderWay = new Promise((done) => {
      resolve = done;
    });
    const url = await startServer(t, machines.address, resolve);
    const run = startMillrace(['load', ...flags, '-R', '150', '-d', '60s', url]);
    await isUnderWay;
    run.child.kill('SIGKILL');
    await run.ended;
    await assertNothingLeft(machines);
  });

  test('where no host is left there is a line for each', async () => {
    const args = ['load', ...flags, '-n', '30', `http://${machines.address}:1/`];
    const { code, stdout, stderr } = await millrace(args);
    assert.equal(code, 3);
    assert.equal(stdout, '');
    const lines = stderr.trim().split('\n');
    assert.equal(lines.length, NAMES.length, stderr);
    for (const [index, name] of NAMES.entries()) {
      const start = `millrace: ${name}: cannot connect to ${machines.address}:1: `;
      assert.ok(lines[index].startsWith(start), lines[index]);
    }
  });
});

test('a host that a file reaches slowly, or that reads it long, is waited for', {
  timeout: 120_000,
}, async (t) => {
  const url = await startServer(t, '127.0.0.1');
  const agents = fileURLToPath(new URL('../fixtures/hosts/agents.js', import.meta.url));
  const result = await loadOnHosts(['slow', 'busy'], {
    ssh: `'${process.execPath}' '${agents}'`,
    // 27 s of the connection, while each side says nothing else.
    ...{ url, method: 'POST', body: Buffer.alloc(2_000_000), connections: 2, requests: 4 },
  });
  assert.equal(result.requests.ok, 2);
  assert.deepEqual(
    result.warnings.filter(({ id }) => id === 'host-failed'),
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

/** Asserts that neither processes nor files are left. */
async function assertNothingLeft({ byName }) {
  const list = () =>
    NAMES.flatMap((name) => [...byName[name].processes(), ...byName[name].files()]);
  const deadline = performance.now() + 10_000;
  while (list().length > 0 && performance.now() < deadline) await sleep(20);
  assert.deepEqual(list(), []);
}
