// One file, though long: every reader is tried on the same kinds of processes, which are made at its top.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCapabilities } from '#internal/explain/observe/capabilities.js';
import { observeProcess } from '#internal/explain/observe/process-observer.js';
import { watchSockets } from '#internal/explain/observe/socket-sampler.js';
import { checkPid } from '#internal/process/discovery/check-pid.js';
import { findQuotas, parseCpuStat } from '#internal/process/procfs/cgroup.js';
import { readText } from '#internal/process/procfs/procfs.js';
import { retried } from '../../fixtures/retry.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const timeout = 180_000;
const has = (program) => spawnSync('which', [program]).status === 0;
const noTaskset = !has('taskset') && 'needs taskset';
const hasIPv6 = networkInterfaces().lo?.some(({ address }) => address === '::1');
const now = () => performance.now();
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/**
 * Starts a program of Node that is ended after the test; it says over the channel when it is ready.
 *
 * @param {string} program
 * @param {{ before?: string[], stdio?: any[], env?: NodeJS.ProcessEnv }} [options]
 */
async function node(program, { before = [], stdio = ['pipe', 'ignore', 'inherit'], env } = {}) {
  const command = [...before, process.execPath, '-e', program];
  /** @type {any} */
  const child = spawn(command[0], command.slice(1), {
    stdio: [...stdio, 'ipc'],
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'exit');
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  child.ended = ended;
  [child.message] = await once(child, 'message');
  return child;
}

function watch(pid, options) {
  const watching = observeProcess(pid, options);
  cleanups.push(() => watching.stop());
  return watching;
}

/** What happened in a stretch of time that begins with a reading of its own. */
async function during(watching, work) {
  watching.between(now() - 1, now());
  const fromMs = now();
  await work();
  return watching.between(fromMs, now());
}

function census(target) {
  const counting = watchSockets(target, { intervalMs: 20 });
  cleanups.push(() => counting.stop());
  return counting;
}

/** What some looks saw, all from now on. */
function looks(counting, least = 3) {
  const fromMs = now();
  return until(() => {
    const seen = counting.between(fromMs, now());
    return seen.samples >= least && seen;
  });
}

async function listen(server, ...where) {
  server.listen(...where);
  await once(server, 'listening');
  const sockets = new Set();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server.address().port;
}

/** Connections that are open when this resolves, ended after the test. */
async function open(number, port, host = '127.0.0.1') {
  const sockets = begin(number, port, host);
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

function begin(number, port, host) {
  return Array.from({ length: number }, () => {
    const socket = connect(port, host).on('error', () => {});
    cleanups.push(() => socket.destroy());
    return socket;
  });
}

async function until(condition) {
  for (;;) {
    const value = await condition();
    if (value) return value;
    await sleep(5);
  }
}

/** That a thread wanted a core all the time: it had one, waited for one, or the machine's host had taken that away. */
function assertWants({ run, queued }, { steal }) {
  assert.ok(run + queued + steal > 0.85, `${run} + ${queued} + ${steal} stolen`);
}

/** A loop that is never idle, and tells on demand what CPU time it has had. */
const BUSY = `
  process.on('disconnect', () => process.exit());
  process.send(1);
  process.on('message', () => process.send(process.cpuUsage()));
  setImmediate(function turn() { for (let i = 0; i < 1e6; i++); setImmediate(turn); });`;

describe('the threads of a server', { skip, timeout }, () => {
  test('a busy loop runs or waits for a core all the time', async () => {
    const child = await node(BUSY);
    const ownSeconds = async () => {
      child.send('CPU?');
      const [{ user, system }] = await once(child, 'message');
      return (user + system) / 1e6;
    };
    const watching = watch(child.pid);
    const look = async () => {
      const before = await ownSeconds();
      const view = await during(watching, () => sleep(1000));
      return { ...view, own: (await ownSeconds()) - before };
    };
    const { processes, seconds } = await retried(look, ({ processes, cpu, seconds, own }) => {
      const [{ main }] = processes;
      assertWants(main, cpu);
      // By its own account, which begins a little before and ends a little after.
      assert.ok(
        within(cpu.server * seconds, own * 0.7, own * 1.05),
        `${cpu.server * seconds} of ${own}`,
      );
      assert.ok(within(main.run, cpu.server * 0.8, cpu.server), `${main.run} of ${cpu.server}`);
    });
    const [{ pid, main }] = processes;
    assert.equal(pid, child.pid);
    assert.equal(main.tid, child.pid);
    assert.ok(seconds >= 0.99);
  });

  test('a thread that shares its core waits for it', { skip: noTaskset }, async () => {
    const before = ['taskset', '-c', '0'];
    const [child] = await Promise.all([node(BUSY, { before }), node(BUSY, { before })]);
    const watching = watch(child.pid);
    const look = () => during(watching, () => sleep(1500));
    const { cpu } = await retried(look, ({ processes, cpu }) => {
      const [{ main }] = processes;
      assert.ok(main.queued > 0.2, `${main.queued}`);
      assertWants(main, cpu);
      assert.ok(cpu.others > 0.1, `${cpu.others}`);
    });
    assert.equal(cpu.cores, 1);
  });

  test('threads of the pool are separate from that of the loop, also if they start later', async () => {
    const child = await node(`
      const { pbkdf2 } = require('crypto');
      const job = () => pbkdf2('secret', 'salt', 20_000, 64, 'sha512', job);
      process.once('message', () => { for (let i = 0; i < 4; i++) job(); });
      process.send(1);`);
    const watching = watch(child.pid);
    const idle = await during(watching, () => sleep(100));
    child.send('begin');
    const busy = await during(watching, () => sleep(1000));
    assert.equal(busy.processes[0].others.length, idle.processes[0].others.length + 4);
    const [{ main, others }] = busy.processes;
    const working = others.filter(({ run, queued }) => run + queued > 0.3);
    assert.equal(working.length, 4);
    assert.ok(main.run < 0.3, `${main.run}`);
  });

  test('threads of descendants that start later count', async () => {
    const child = await node(`
      const { spawn } = require('child_process');
      process.once('message', () => {
        const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
        const grandchild = spawn(process.execPath, ['-e', ${JSON.stringify(BUSY)}], { stdio });
        grandchild.once('message', () => process.send(grandchild.pid));
        process.once('disconnect', () => grandchild.kill('SIGKILL'));
      });
      process.send(1);`);
    const watching = watch(child.pid);
    child.send('fork');
    const [grandchild] = await once(child, 'message');
    const fromMs = now();
    const view = await until(() => {
      const seen = watching.between(fromMs, now());
      return seen?.processes.length === 2 && seen;
    });
    assert.equal(view.processes[1].pid, grandchild);
    const { run, queued } = view.processes[1].main;
    assert.ok(run + queued > 0.05, `${run} + ${queued}`);
    child.disconnect();
  });

  test('threads of this process are reported as well', async () => {
    const child = await node('process.send(1); setInterval(() => {}, 1e6);');
    const watching = watch(child.pid);
    const work = () => {
      for (const end = now() + 500; now() < end; );
    };
    await retried(
      () => during(watching, work),
      ({ cpu, selfQueued }) => {
        assertWants({ run: cpu.self, queued: selfQueued }, cpu);
        assert.ok(cpu.server < 0.2);
      },
    );
  });
});

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

describe('samples of sockets', { skip, timeout }, () => {
  const SERVER = `
    const server = require('net').createServer({ pauseOnConnect: true });
    server.listen(0, process.env.HOST, () => process.send(server.address().port));`;

  test('bytes that a server does not read are found at its connections', async () => {
    const child = await node(SERVER, { env: { HOST: '127.0.0.1' } });
    const port = child.message;
    const clients = await open(4, port);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    for (const client of clients.slice(0, 3)) client.write('request');
    const { server, client } = await until(async () => {
      const seen = await looks(counting);
      return seen.server.unread === 0.75 && seen;
    });
    assert.deepEqual(server, { sockets: 4, min: 4, max: 4, unread: 0.75, unsent: 0 });
    assert.deepEqual(client, { sockets: 4, min: 4, max: 4, unread: 0, unsent: 0 });
    // More than the buffers of both sides hold.
    clients[0].write(Buffer.alloc(64 * 1024 * 1024));
    await until(async () => (await looks(counting)).client.unsent === 0.25);
  });

  test('bytes that this process does not read are found', async () => {
    const child = await node(`
      const server = require('net').createServer((socket) => socket.write('response'));
      server.listen(0, '127.0.0.1', () => process.send(server.address().port));`);
    const port = child.message;
    const clients = begin(2, port, '127.0.0.1');
    clients[0].resume();
    clients[1].pause();
    const counting = census({ pid: null, endpoint: { host: 'localhost', port } });
    // The first one reads as soon as it comes to that.
    const { client } = await until(async () => {
      const seen = await looks(counting);
      return seen.client.unread === 0.5 && seen;
    });
    assert.deepEqual(client, { sockets: 2, min: 2, max: 2, unread: 0.5, unsent: 0 });
  });

  test('IPv4 over an IPv6 socket counts as IPv4', { skip: !hasIPv6 && 'needs IPv6' }, async () => {
    const child = await node(SERVER, { env: { HOST: '::' } });
    const port = child.message;
    await open(2, port, '127.0.0.1');
    await open(1, port, '::1');
    for (const [host, sockets] of [
      ['127.0.0.1', 2],
      ['::1', 1],
      ['[::1]', 1],
      ['localhost', 3],
    ]) {
      const counting = census({ pid: child.pid, endpoint: { host, port } });
      const { server, client, listen } = await until(async () => {
        const seen = await looks(counting);
        return seen.server.min === sockets && seen;
      });
      assert.equal(server.max, sockets, host);
      assert.equal(client.sockets, sockets, host);
      assert.equal(listen.waiting, 0, host);
    }
  });

  test('connections that wait for a blocked loop are found, and overflows', async () => {
    const child = await node(`
      const { readSync } = require('fs');
      const server = require('net').createServer((socket) => socket.resume());
      server.listen({ port: 0, host: '127.0.0.1', backlog: 2 }, () => process.send(server.address().port));
      process.once('message', () => readSync(0, Buffer.alloc(1)));`);
    const port = child.message;
    const watching = watch(child.pid);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    const fromMs = now();
    const before = (await looks(counting)).listen;
    assert.equal(before.waiting, 0);
    child.send('block');
    begin(10, port, '127.0.0.1');
    const { listen, server } = await until(async () => {
      const seen = await looks(counting);
      return seen.listen.waiting > 2 && seen;
    });
    // The kernel lets one more wait than the bound.
    assert.equal(listen.waiting, 3);
    if (has('ss')) await until(async () => (await looks(counting)).listen.backlog === 2);
    assert.equal(server.sockets, 0);
    const view = await until(() => {
      const seen = watching.between(fromMs, now());
      return seen.network.listenOverflows > 0 && seen;
    });
    assert.ok(view.network.sentSegments > 0);
    await until(() => watching.between(fromMs, now()).network.synRetransmitted > 0);
    child.stdin.write('x');
    await until(async () => (await looks(counting)).server.sockets >= 3);
  });

  test('connections that the server opened are counted by peer', async () => {
    const held = [];
    const slow = await listen(
      createServer((socket) => held.push(socket)),
      0,
      '127.0.0.1',
    );
    const other = await listen(
      createServer((socket) => held.push(socket)),
      0,
      '127.0.0.1',
    );
    const child = await node(
      `const http = require('http');
       const agent = new http.Agent({ maxSockets: 5 });
       for (let i = 0; i < 20; i++) http.get({ port: ${slow}, host: '127.0.0.1', agent }).on('error', () => {});
       http.get({ port: ${other}, host: '127.0.0.1', agent: false }).on('error', () => {});
       const [server, second] = [http.createServer(), http.createServer()];
       server.listen(0, '127.0.0.1', () => second.listen(0, '127.0.0.1', () => {
         process.send([server, second].map((each) => each.address().port));
       }));`,
    );
    const [port, second] = child.message;
    await until(() => held.length === 6);
    await open(3, port);
    // Those that came to another port of the server were not opened by it.
    await open(4, second);
    // This process has opened connections too: they are not the server's.
    await open(2, slow);
    const counting = census({ pid: child.pid, endpoint: { host: '127.0.0.1', port } });
    const { outbound, server } = await until(async () => {
      const seen = await looks(counting);
      return seen.server.min === 3 && seen;
    });
    assert.equal(server.max, 3);
    assert.deepEqual(
      outbound.map(({ peer, sockets, min, max }) => ({ peer, sockets, min, max })),
      [
        { peer: `127.0.0.1:${slow}`, sockets: 5, min: 5, max: 5 },
        { peer: `127.0.0.1:${other}`, sockets: 1, min: 1, max: 1 },
      ],
    );
    for (const socket of held.splice(0)) socket.destroy();
  });

  test('other connections of a server behind a Unix socket are counted', async () => {
    const port = await listen(
      createServer(() => {}),
      0,
      '127.0.0.1',
    );
    const child = await node(`
      const socket = require('net').connect(${port}, '127.0.0.1', () => process.send(1));`);
    const seen = await looks(census({ pid: child.pid, endpoint: null }));
    assert.equal(seen.listen, null);
    assert.equal(seen.server.sockets + seen.client.sockets, 0);
    assert.deepEqual(
      seen.outbound.map(({ peer }) => peer),
      [`127.0.0.1:${port}`],
    );
  });

  test('missing samples are reported as such', async () => {
    const counting = census({ pid: process.pid, endpoint: { host: '127.0.0.1', port: 1 } });
    const seen = counting.between(-1000, -500);
    assert.deepEqual(
      { ...seen, outbound: [], localPorts: 0 },
      {
        samples: 0,
        server: { sockets: 0, min: 0, max: 0, unread: 0, unsent: 0 },
        client: { sockets: 0, min: 0, max: 0, unread: 0, unsent: 0 },
        listen: null,
        outbound: [],
        timeWait: 0,
        localPorts: 0,
      },
    );
  });
});

describe('a CPU quota', () => {
  function folder() {
    const path = mkdtempSync(join(tmpdir(), 'millrace cgroup-'));
    cleanups.push(() => rmSync(path, { recursive: true }));
    return path;
  }

  function files(path, contents) {
    mkdirSync(path, { recursive: true });
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(path, name), text);
  }

  const mountLine = (root, mount, rest) =>
    `41 31 0:38 ${root} ${mount.replaceAll(' ', '\\040')} rw,relatime shared:9 - ${rest}\n`;

  test('a quota of version 2 applies from the cgroup up to the mounted root', () => {
    const mount = folder();
    files(join(mount, 'services/web'), { 'cpu.max': 'max 100000\n' });
    files(join(mount, 'services'), { 'cpu.max': '150000 100000\n' });
    files(mount, { 'cpu.max': '40000 20000\n' });
    files(join(mount, 'services/other'), { 'cpu.max': '1000 100000\n' });
    const mounts = `31 23 0:28 / /sys rw - sysfs sysfs rw\n${mountLine('/', mount, 'cgroup2 cgroup2 rw')}`;
    assert.deepEqual(findQuotas(mounts, '0::/services/web\n'), [
      { folder: join(mount, 'services'), cores: 1.5 },
      { folder: mount, cores: 2 },
    ]);
    assert.deepEqual(findQuotas(mounts, '0::/\n'), [{ folder: mount, cores: 2 }]);
    assert.deepEqual(findQuotas(mounts, '0::/../elsewhere\n'), []);
    assert.deepEqual(findQuotas(mounts, ''), []);
    assert.deepEqual(findQuotas('', '0::/services/web\n'), []);
  });

  test('a quota of version 1 is below the mounted root', () => {
    const mount = folder();
    files(join(mount, 'web'), { 'cpu.cfs_quota_us': '50000\n', 'cpu.cfs_period_us': '100000\n' });
    files(mount, { 'cpu.cfs_quota_us': '-1\n', 'cpu.cfs_period_us': '100000\n' });
    const mounts = [
      mountLine('/docker/1', mount, 'cgroup cgroup rw,cpu,cpuacct'),
      mountLine('/docker/1', '/nowhere', 'cgroup cgroup rw,cpuset'),
    ].join('');
    const found = [{ folder: join(mount, 'web'), cores: 0.5 }];
    assert.deepEqual(findQuotas(mounts, '4:memory:/x\n2:cpu,cpuacct:/docker/1/web\n0::/\n'), found);
    assert.deepEqual(findQuotas(mounts, '2:cpu,cpuacct:/docker/10/web\n'), []);
    assert.deepEqual(findQuotas(mounts, '2:cpuset:/docker/1/web\n'), []);
  });

  test('a quota of either version reports how often it stopped the server', () => {
    const version2 = 'usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 120000\n';
    const version1 = 'nr_periods 10\nnr_throttled 4\nthrottled_time 120000000\n';
    const expected = { periods: 10, throttled: 4, throttledMs: 120 };
    assert.deepEqual(parseCpuStat(version2), expected);
    assert.deepEqual(parseCpuStat(version1), expected);
    assert.deepEqual(parseCpuStat('usage_usec 5\n'), { periods: 0, throttled: 0, throttledMs: 0 });
  });

  test('a quota shows where a busy server may run', { skip, timeout }, async (t) => {
    const cgroup = makeCgroup(0.2);
    if (cgroup === null) return t.skip('no cgroup can be made here');
    const child = await node(BUSY);
    writeFileSync(join(cgroup, 'cgroup.procs'), `${child.pid}`);
    const { quota, processes } = await during(watch(child.pid), () => sleep(1500));
    assert.equal(quota.cores, 0.2);
    assert.ok(quota.throttledPeriods > 0.3, `${quota.throttledPeriods}`);
    assert.ok(quota.throttledShare > 0.2, `${quota.throttledShare}`);
    assert.ok(processes[0].main.run < 0.4, `${processes[0].main.run}`);
  });

  /** A cgroup of the test's own with a quota, removed after it; `null` if that is not permitted. */
  function makeCgroup(cores) {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const version1 = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup \S+ \S*\bcpu(,|$)/m.exec(mounts)?.[1];
    const version2 = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1];
    for (const [mount, bounds] of [
      [version1, { 'cpu.cfs_period_us': 100_000, 'cpu.cfs_quota_us': cores * 100_000 }],
      [version2, { 'cpu.max': `${cores * 100_000} 100000` }],
    ]) {
      if (mount === undefined) continue;
      const path = join(mount, `millrace-test-${process.pid}`);
      try {
        mkdirSync(path);
        cleanups.push(() => until(() => removed(path)));
        for (const [name, value] of Object.entries(bounds))
          writeFileSync(join(path, name), `${value}`);
        return path;
      } catch {
        // Not permitted, or the controller is not there.
      }
    }
    return null;
  }

  function removed(path) {
    try {
      rmdirSync(path);
      return true;
    } catch ({ code }) {
      return code !== 'EBUSY';
    }
  }
});

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
