// The CPU time of what a server is connected to on its machine.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { observeProcess } from '#internal/explain/observe/process-observer.js';
import { watchSockets } from '#internal/explain/observe/socket-sampler.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const NOBODY = 65534;
const cleanups = [];
async function cleanUp() {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
afterEach(cleanUp);

/** Starts a program of Node; resolves with its process once it has told its port. */
async function startProgram(program, options = {}) {
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    ...options,
  });
  const exited = once(child, 'exit');
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const [port] = await Promise.race([
    once(child, 'message'),
    exited.then(() => Promise.reject(new Error('the program has ended'))),
  ]);
  return Object.assign(child, { port });
}

/** A program that computes all the time, and whose clients wait for an answer. */
const DATABASE = `
  const server = require('net').createServer(() => {});
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  setImmediate(function turn() { for (let i = 0; i < 1e6; i++); setImmediate(turn); });`;

/** A server that keeps a connection to a port open. */
const server = (port) => `
  require('net').connect(${port}, '127.0.0.1', () => process.send(0)); setInterval(() => {}, 1e6);`;

/** Observes a process until what it is connected to has been seen for a while. */
async function observe(pid) {
  const sockets = watchSockets({ pid, endpoint: null }, { intervalMs: 20 });
  const processes = observeProcess(pid, { listPeers: () => sockets.listPeers() });
  cleanups.push(() => {
    sockets.stop();
    processes.stop();
  });
  for (;;) {
    const atMs = performance.now();
    const view = processes.between(atMs - 400, atMs);
    // The machine's times have a resolution of 10 ms: a window of the first few ms may have none.
    if (view?.seconds > 0.3 && view.dependencies[0]?.cores > 0.2) return view;
    // The interval of the readings; the test's time limit ends a wait in vain.
    await sleep(50);
  }
}

describe('what a server is connected to on its machine', { skip, timeout: 60_000 }, () => {
  test('is observed with its CPU time, which others use for the rest', async () => {
    const database = await startProgram(DATABASE);
    const { pid } = await startProgram(server(database.port));
    const { cpu, dependencies } = await observe(pid);
    assert.deepEqual(
      dependencies.map(({ peers, program }) => [peers, program]),
      [[[`127.0.0.1:${database.port}`], 'node']],
    );
    const [{ cores, busiestThread }] = dependencies;
    assert.ok(busiestThread.run > 0.2 && cores >= busiestThread.run, `${cores}`);
    assert.ok(cpu.dependencies > 0.2 && cpu.dependencies <= cpu.others, `${cpu.dependencies}`);
  });

  test('is found by its user, if its processes cannot be seen', {
    skip: process.getuid?.() !== 0 && 'needs root',
  }, async (t) => {
    const options = { uid: NOBODY, gid: NOBODY, cwd: '/' };
    const database = await startProgram(DATABASE, options).catch(() => null);
    if (database === null) return t.skip('nobody may not run Node.js here');
    const dist = new URL('../../../dist/process/', import.meta.url).href;
    const other = { uid: NOBODY - 1, gid: NOBODY - 1 };
    const owners = fileURLToPath(`${dist}listening/port-owners.js`);
    if (spawnSync('test', ['-r', owners], other).status !== 0) {
      // Nothing is cleaned up behind a test that is skipped.
      await cleanUp();
      return t.skip('another user may not read this folder');
    }
    const program = `
      import { findPortOwner, findPortUser } from '${dist}listening/port-owners.js';
      import { findUserProcesses } from '${dist}discovery/user-processes.js';
      const user = findPortUser(${database.port}, '127.0.0.1');
      const processes = findUserProcesses(user);
      console.log(JSON.stringify({ owner: findPortOwner(${database.port}, '127.0.0.1'), user, processes }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      ...other,
      cwd: tmpdir(),
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    const { owner, user, processes } = JSON.parse(stdout);
    assert.deepEqual([owner, user], [null, NOBODY]);
    assert.ok(processes.includes(database.pid), `${processes}`);
  });
});
