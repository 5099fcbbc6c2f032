// A server from outside: its calls, descriptors, CPU, and what can be observed of it at all.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCapabilities } from '#internal/explain/observe/capabilities.js';
import { checkPid } from '#internal/process/discovery/check-pid.js';
import { readText } from '#internal/process/procfs/procfs.js';
import {
  BUSY,
  census,
  cleanups,
  during,
  node,
  now,
  until,
  watch,
} from '../../fixtures/explain/observed-processes.js';
import { retried } from '../../fixtures/retry.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const timeout = 180_000;

describe('a server from outside', { skip, timeout }, () => {
  test('calls and bytes written are counted', async () => {
    const child = await node(`
      const { openSync, writeSync } = require('fs');
      const [file, line] = [openSync('/dev/null', 'w'), Buffer.alloc(500)];
      process.on('message', (count) => {
        for (let i = 0; i < count; i++) writeSync(file, line);
        process.send('done');
      });
      process.send(1);`);
    const watching = watch(child.pid, { intervalMs: 20 });
    const { seconds, processes } = await during(watching, async () => {
      // Between readings growth is taken for even: the writes are to be away from both ends.
      await sleep(100);
      child.send(2000);
      await once(child, 'message');
      await sleep(100);
    });
    const { writes, writtenBytes } = processes[0].calls;
    // Node's own: its loop wakes itself by writing.
    assert.ok(within(writes * seconds, 1999, 2100), `${writes * seconds}`);
    assert.ok(within(writtenBytes * seconds, 999_500, 1_010_000), `${writtenBytes * seconds}`);
  });

  test('descriptors and their limit are reported', async () => {
    const before = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'];
    const child = await node(
      `try { for (;;) require('fs').openSync('/dev/null'); } catch ({ code }) { process.send(code); }
       setInterval(() => {}, 1e6);`,
      { before },
    );
    assert.equal(child.message, 'EMFILE');
    const [{ openFiles, fileLimit, rssMb }] = (await during(watch(child.pid), () => sleep(20)))
      .processes;
    assert.equal(fileLimit, 64);
    // More if it was started with some beyond the limit.
    assert.ok(within(openFiles, 64, 70), `${openFiles}`);
    assert.ok(rssMb > 10 && rssMb < 1000);
  });

  test('a server that ends is reported up to its end', async () => {
    const child = await node(BUSY);
    const watching = watch(child.pid, { intervalMs: 10 });
    const fromMs = now();
    await sleep(300);
    child.kill('SIGKILL');
    await child.ended;
    const endMs = now();
    await until(() => watching.between(endMs, now()) === null && now() > endMs + 50);
    const view = watching.between(fromMs, endMs);
    assert.equal(view.processes.length, 1);
    // On a busy machine its end is told late, and is no part of what it ran.
    assert.ok(view.processes[0].main.run + view.processes[0].main.queued > 0.3);
    watching.stop();
    assert.deepEqual(watching.between(fromMs, endMs), view);
  });

  test('a server that does not exist has no figures', () => {
    const watching = watch(2 ** 30);
    assert.equal(watching.between(0, now()), null);
    const counting = census({ pid: 2 ** 30, endpoint: { host: '127.0.0.1', port: 1 } });
    assert.equal(counting.between(0, now()).server.sockets, 0);
  });

  test('only the requested time is reported', async () => {
    const child = await node('process.send(1); setInterval(() => {}, 1e6);');
    const beforeMs = now();
    const watching = watch(child.pid);
    assert.equal(watching.between(beforeMs - 1000, beforeMs), null);
    assert.equal(watching.between(now() + 1000, now() + 2000), null);
    await sleep(50);
    const { seconds } = watching.between(beforeMs - 10_000, now() + 10_000);
    assert.ok(within(seconds, 0.04, (now() - beforeMs) / 1000));
  });

  test('the CPU of child processes that have ended counts for the server', async () => {
    const child = await node(`
      const { spawnSync } = require('child_process');
      const busy = 'const end = Date.now() + 40; while (Date.now() < end);';
      process.send(1);
      process.once('message', () => setInterval(() => spawnSync(process.execPath, ['-e', busy]), 1));`);
    // What else this machine does is of others, then as before.
    const { cpu: before } = await during(watch(child.pid), () => sleep(300));
    child.send('begin');
    const look = async () => {
      // Also the one that was there before the watch.
      await until(() => readText(`/proc/${child.pid}/task/${child.pid}/children`));
      return during(watch(child.pid), () => sleep(1500));
    };
    await retried(look, ({ cpu, processes }) => {
      assert.ok(processes[0].main.run < 0.3, `${processes[0].main.run}`);
      assert.ok(cpu.server > 0.6, `${cpu.server} of the server`);
      assert.ok(cpu.others < before.others + 0.4 * cpu.server, `${cpu.others} of others`);
    });
  });

  test('the CPU of programs that its programs run counts once', async () => {
    const child = await node(`
      const { spawnSync } = require('child_process');
      const busy = 'const end = Date.now() + 300; while (Date.now() < end);';
      // Each is there for long enough to be watched, before and after it has run a program.
      const run = 'sleep 0.5; "$0" -e "$1"; sleep 0.4';
      process.send(1);
      setInterval(() => spawnSync('sh', ['-c', run, process.execPath, busy]), 1);`);
    const { cpu } = await during(watch(child.pid), () => sleep(3800));
    // Some 0.35 of 1.25 seconds.
    assert.ok(cpu.server > 0.1 && cpu.server < 0.42, `${cpu.server} of the server`);
  });

  test('the permitted figures of a server of another user are reported', {
    skip: process.getuid?.() !== 0 && 'needs root',
  }, async (t) => {
    const server = await node('process.send(1); setInterval(() => {}, 1e6);');
    const dist = new URL('../../../dist/explain/', import.meta.url).href;
    const program = `
      import { findCapabilities } from '${dist}observe/capabilities.js';
      import { observeProcess } from '${dist}observe/process-observer.js';
      const watch = observeProcess(${server.pid});
      // The window that is watched.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const view = watch.between(0, performance.now());
      watch.stop();
      console.log(JSON.stringify({ view, inventory: findCapabilities(${server.pid}, null) }));`;
    const options = { uid: 65534, gid: 65534, cwd: '/', encoding: 'utf8' };
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', program],
      options,
    );
    if (status !== 0) return t.skip('nobody may not read this folder');
    const { view, inventory } = JSON.parse(stdout);
    assert.equal(view.processes[0].calls, null);
    assert.ok(view.processes[0].rssMb > 10);
    assert.equal(inventory.isNode, true);
    const text = inventory.notObserved.join('\n');
    for (const what of ['environment', 'output and outgoing connections', 'read and write calls']) {
      assert.match(text, new RegExp(`^${what} of the server.*: it belongs to another user`, 'm'));
    }
  });
});

function within(value, low, high) {
  return value >= low && value <= high;
}

describe('the inventory of a process', { skip, timeout }, () => {
  test('the inventory recognizes a server that runs Node', async () => {
    const child = await node('process.send(1); setInterval(() => {}, 1e6);');
    const { sameHost, isNode } = findCapabilities(child.pid, null);
    assert.deepEqual({ sameHost, isNode }, { sameHost: true, isNode: true });
  });

  test('the inventory states what cannot be observed and how to find out', () => {
    const remote = findCapabilities(null, { host: '192.0.2.1', port: 80 });
    assert.equal(remote.sameHost, false);
    assert.match(remote.notObserved[0], /on another machine; run millrace there$/);
    assert.match(
      findCapabilities(null, { host: 'localhost', port: 80 }).notObserved[0],
      /give its --pid/,
    );
    assert.match(findCapabilities(2 ** 30, null).notObserved[0], /has ended$/);
    assert.match(findCapabilities(process.pid, null).notObserved.join('\n'), /Unix sockets/);
  });

  test('the inventory accepts only the pid of a Node process', async () => {
    assert.equal(checkPid(process.pid), 'ok');
    assert.match(checkPid(0), /^pid must be a process id \(got 0\)/);
    assert.match(checkPid(1.5), /^pid must be a process id \(got 1.5\)/);
    assert.equal(checkPid(2 ** 30), `pid ${2 ** 30}: there is no such process`);
    const shell = spawn('sh', [
      '-c',
      '"$0" -e "process.stdout.write(String(process.pid)); setInterval(() => {}, 1e6)"; exit',
      process.execPath,
    ]);
    const [output] = await once(shell.stdout, 'data');
    cleanups.push(() => process.kill(Number(output), 'SIGKILL'));
    assert.match(
      checkPid(shell.pid),
      new RegExp(`^pid ${shell.pid} is \\S+, not Node.js; its descendant ${output} is$`),
    );
    const child = await node(
      'process.send(require("fs").readdirSync("/proc/self/task").at(-1)); setInterval(() => {}, 1e6);',
    );
    assert.equal(
      checkPid(Number(child.message)),
      `pid ${child.message} is a thread of process ${child.pid}: give that id`,
    );
  });
});
