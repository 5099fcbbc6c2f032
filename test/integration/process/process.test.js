import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { PassThrough } from 'node:stream';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from 'millrace';
import { startCommand } from '#internal/process/command/start-command.js';
import { findAncestors, findProcessTree } from '#internal/process/discovery/process-tree.js';
import { findFreePort, findFreePorts } from '#internal/process/listening/free-port.js';
import { findListeningSockets, findPortOwner } from '#internal/process/listening/port-owners.js';
import { readStat } from '#internal/process/procfs/procfs.js';
import { sampleProcesses } from '#internal/process/sampling/process-tree-sampler.js';
import { retried } from '../../fixtures/retry.js';

const noProcfs = process.platform !== 'linux' && 'needs /proc';
const hasIPv6 = networkInterfaces().lo?.some(({ address }) => address === '::1');
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Starts a program of Node that is ended after the test; it answers over the channel. */
function node(program, options = {}) {
  const args = ['-e', program];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    ...options,
  });
  cleanups.push(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  return child;
}

async function listen(server, ...where) {
  server.listen(...where);
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return server.address().port;
}

async function until(condition) {
  for (;;) {
    const value = await condition();
    if (value) return value;
    await sleep(5);
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const SERVER = `require('http').createServer((q, r) => r.end()).listen(0, '127.0.0.1', function () {
  process.send?.(this.address().port);
});`;

describe('the tree of a process', { skip: noProcfs, timeout: 20_000 }, () => {
  test('the tree of a process contains its descendants without this process', async () => {
    const child = node(`
      const { spawn } = require('child_process');
      const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
      const grandchild = spawn(process.execPath, ['-e', 'process.send(1); setInterval(() => {}, 1e6)'], { stdio });
      grandchild.once('message', () => process.send(grandchild.pid));
      process.once('disconnect', () => grandchild.kill());`);
    const [grandchild] = await once(child, 'message');
    assert.deepEqual(findProcessTree(child.pid), [child.pid, grandchild]);
    assert.deepEqual(findProcessTree(process.pid), [process.pid, child.pid, grandchild]);
    assert.ok(!findProcessTree(process.ppid).includes(process.pid));
    assert.deepEqual(findAncestors(grandchild).slice(0, 3), [child.pid, process.pid, process.ppid]);
    child.disconnect();
    await until(() => !isRunning(grandchild));
  });

  test('the tree of a process does not depend on the name that a process gives itself', async () => {
    const child = node(`
      require('fs').writeFileSync('/proc/self/comm', 'a) Z 1 1 (b');
      process.send(1);
      setInterval(() => {}, 1e6);`);
    await once(child, 'message');
    assert.match(readFileSync(`/proc/${child.pid}/stat`, 'utf8'), /^\d+ \(a\) Z 1 1 \(b\) /);
    const { state, parent } = readStat(`/proc/${child.pid}`);
    assert.match(state, /^[RS]$/);
    assert.equal(parent, process.pid);
    assert.equal(findAncestors(child.pid)[0], process.pid);
  });

  test('the tree of a process that has ended contains only itself', async () => {
    const child = node('');
    await once(child, 'exit');
    assert.deepEqual(findProcessTree(child.pid), [child.pid]);
    assert.deepEqual(findAncestors(child.pid), []);
  });
});

describe('the owner of a port', { skip: noProcfs, timeout: 20_000 }, () => {
  test('the owner of a port is the process that listens', async () => {
    const child = node(SERVER);
    const [port] = await once(child, 'message');
    for (const host of ['127.0.0.1', 'localhost', '0.0.0.0']) {
      assert.equal(findPortOwner(port, host), child.pid, host);
    }
    const [{ host, port: found }] = findListeningSockets(child.pid);
    assert.deepEqual({ host, port: found }, { host: '127.0.0.1', port });
  });

  test('the owner of a port is unknown if nothing listens, or on another host', async () => {
    const server = createServer();
    const port = await listen(server, 0, '0.0.0.0');
    assert.equal(findPortOwner(port, '127.0.0.1'), process.pid);
    assert.equal(findPortOwner(port, '192.0.2.1'), null);
    assert.equal(findPortOwner(port, 'example.com'), null);
    server.close();
    await once(server, 'close');
    assert.equal(findPortOwner(port, '127.0.0.1'), null);
  });

  test('the owner of a port depends on the address, not only on the port', async () => {
    const child = node(SERVER);
    const [port] = await once(child, 'message');
    await listen(createServer(), port, '127.0.0.2');
    assert.equal(findPortOwner(port, '127.0.0.1'), child.pid);
    assert.equal(findPortOwner(port, '127.0.0.2'), process.pid);
    assert.equal(findPortOwner(port, '127.0.0.3'), null);
  });

  test('the owner of a port is found over IPv6', { skip: !hasIPv6 }, async () => {
    const only = await listen(createServer(), 0, '::1');
    assert.equal(findPortOwner(only, '::1'), process.pid);
    assert.equal(findPortOwner(only, '0:0:0:0:0:0:0:1'), process.pid);
    assert.equal(findPortOwner(only, 'localhost'), process.pid);
    assert.equal(findPortOwner(only, '127.0.0.1'), null);
    assert.equal(findPortOwner(only, 'fe80::1%none'), null);
    const dual = await listen(createServer(), 0, '::');
    assert.equal(findPortOwner(dual, '::1'), process.pid);
    assert.equal(findPortOwner(dual, '127.0.0.1'), process.pid);
  });

  for (const close of [false, true]) {
    const who = close ? 'the workers' : 'the primary';
    test(`the owner of a port is the primary of a cluster if ${who} accept`, async () => {
      const server = await startTestServer({ processes: 2, close });
      cleanups.push(() => server.close());
      assert.equal(findPortOwner(server.port, '127.0.0.1'), server.pid);
      assert.equal(findListeningSockets(server.pid)[0].port, server.port);
    });
  }

  test('the owner of a port is the process that received the socket from its parent', async () => {
    const child = node(`process.once('message', (text, server) => process.send('held'))`);
    const server = createServer();
    const port = await listen(server, 0, '127.0.0.1');
    child.send('hold this', server);
    await once(child, 'message');
    assert.equal(findPortOwner(port, '127.0.0.1'), child.pid);
  });

  test('the owner of a port is found among many listeners', async () => {
    const child = node(SERVER);
    const [port] = await once(child, 'message');
    // More than a page of the kernel's table.
    for (let n = 0; n < 100; n++) await listen(createServer(), 0, '127.0.0.1');
    assert.equal(findPortOwner(port, '127.0.0.1'), child.pid);
    assert.equal(
      findListeningSockets(process.pid).filter(({ port: own }) => own !== port).length,
      100,
    );
  });
});

describe('the sampler', { skip: noProcfs, timeout: 30_000 }, () => {
  // Uses an amount of its own CPU time on request, however long that takes on a busy machine.
  const BURNER = `
    const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
    process.on('message', (ms) => {
      for (const end = used() + ms; used() < end;);
      process.send('burnt');
    });
    process.send('ready');`;

  async function burn(child, ms) {
    child.send(ms);
    await once(child, 'message');
  }

  async function burner() {
    const child = node(BURNER);
    await once(child, 'message');
    return child;
  }

  test('the sampler measures the CPU of a busy process', async () => {
    const child = await burner();
    const samples = [];
    const sampler = sampleProcesses(child.pid, (sample) => samples.push(sample), 20);
    const from = performance.now();
    await burn(child, 600);
    const to = performance.now();
    const readings = sampler.stop(from, to);
    const usedMs = readings.cpuMean * (to - from);
    assert.ok(Math.abs(usedMs - 600) < 60, `${usedMs} ms of 600 ms`);

    assert.equal(readings.pid, child.pid);
    assert.equal(readings.processes, 1);
    assert.ok(readings.command.startsWith(`${process.execPath} -e `));
    assert.equal(readings.command.length, 80);
    assert.equal(readings.threads[0].group, 'main');
    assert.equal(readings.threads[0].threads, 1);
    assert.ok(readings.threads.length > 1, 'Node has other threads');
    const sum = readings.threads.reduce((cpu, group) => cpu + group.cpu, 0);
    assert.equal(sum, readings.cpuMean);
    assert.ok(readings.threads[0].cpu > 0.9 * sum);
    assert.ok(readings.rssMaxMb > 20 && readings.rssMaxMb < 500, `${readings.rssMaxMb} MB`);
    assert.ok(readings.series.length > 3);
    const offset = samples.findIndex(({ tMs }) => tMs === readings.series[0].tMs);
    // Where this process was held up before `from`, the first lies outside.
    assert.ok(offset === 0 || offset === 1, `${offset}`);
    assert.deepEqual(readings.series.slice(0, 3), samples.slice(offset, offset + 3));
    assert.ok(readings.series.every(({ tMs }, i, all) => i === 0 || tMs > all[i - 1].tMs));
  });

  test('the sampler measures almost no CPU of an idle process', async () => {
    const child = await burner();
    const sampler = sampleProcesses(child.pid, undefined, 20);
    await sleep(300);
    assert.ok(sampler.stop().cpuMean < 0.1);
  });

  test('the sampler reports the window only', async () => {
    const child = await burner();
    const sampler = sampleProcesses(child.pid, undefined, 10);
    await burn(child, 300);
    const from = performance.now();
    await sleep(600);
    const to = performance.now();
    await burn(child, 300);
    const readings = sampler.stop(from, to);
    // A half over the whole; the samples at its ends may reach out of the window.
    assert.ok(readings.cpuMean < 0.3, `${readings.cpuMean}`);
    const last = performance.now();
    for (const { tMs } of readings.series) assert.ok(tMs > from && tMs < last - 150);
  });

  test('the sampler assumes an even rate between two samples', async () => {
    const child = await burner();
    const sampler = sampleProcesses(child.pid, undefined, 1e6);
    await burn(child, 300);
    const to = performance.now();
    const readings = sampler.stop(to - 100, to);
    assert.ok(readings.cpuMean <= 1.2, `${readings.cpuMean} cores of one thread`);
    assert.deepEqual(readings.series, []);
  });

  test('the sampler includes processes that start in the meantime', async () => {
    const child = node(`
      const { spawn } = require('child_process');
      const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
      process.on('message', (ms) => {
        const grandchild = spawn(process.execPath, ['-e', ${JSON.stringify(BURNER)}], { stdio });
        grandchild.once('message', () => {
          grandchild.send(ms);
          grandchild.once('message', () => process.send('burnt'));
        });
        process.once('disconnect', () => grandchild.kill());
      });
      process.send('ready');`);
    await once(child, 'message');
    const sampler = sampleProcesses(child.pid, undefined, 20);
    const from = performance.now();
    await burn(child, 400);
    const to = performance.now();
    const readings = sampler.stop(from, to);
    assert.equal(readings.processes, 2);
    assert.equal(readings.threads[0].threads, 2);
    // Its start costs something as well.
    assert.ok(readings.cpuMean * (to - from) > 400);
    child.disconnect();
  });

  test('the sampler returns null for a process that does not exist', async () => {
    const child = node('');
    await once(child, 'exit');
    assert.equal(sampleProcesses(child.pid).stop(), null);
  });

  test('the sampler keeps the samples of a process that has ended', async () => {
    const child = await burner();
    const sampler = sampleProcesses(child.pid, undefined, 20);
    await burn(child, 100);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok(sampler.stop().cpuMean > 0);
  });
});

describe('a command', { skip: noProcfs, timeout: 60_000 }, () => {
  async function start(command, options) {
    const server = await startCommand(command, { timeoutMs: 15_000, ...options });
    cleanups.push(() => server.stop());
    return server;
  }
  const program = (text) => [process.execPath, '-e', text];
  const LISTENING = `require('http').createServer((q, r) => r.end('mine'))`;

  test('a command is waited for until it listens, and stopped', async () => {
    const output = [];
    const server = await start(
      program(`console.log('starting'); ${LISTENING}.listen(0, '127.0.0.1')`),
      { onOutput: (chunk) => output.push(chunk) },
    );
    const [response] = await once(http.get(`http://${server.host}:${server.port}/`), 'response');
    assert.equal((await response.toArray()).join(''), 'mine');
    assert.equal(Buffer.concat(output).toString(), 'starting\n');
    assert.ok(findProcessTree(process.pid).includes(server.pid));
    await server.stop();
    assert.equal(await server.exited, 'was ended by SIGTERM: starting');
    assert.deepEqual(findProcessTree(process.pid), [process.pid]);
    await server.stop();
  });

  test('a command is found by the address it listens on', { skip: !hasIPv6 }, async () => {
    assert.equal((await start(program(`${LISTENING}.listen(0, '::1')`))).host, '::1');
    assert.equal((await start(program(`${LISTENING}.listen(0)`))).host, '127.0.0.1');
  });

  test('a command is waited for until it listens on the given port', async () => {
    const port = await findFreePort();
    const text = `${LISTENING}.listen(0); setTimeout(() => ${LISTENING}.listen(${port}), 100)`;
    assert.equal((await start(program(text), { port })).port, port);
  });

  test('a command is found by the port it serves, not by that of its debugger', async () => {
    const [low, high] = await inOrder(findFreePorts(2));
    const inspect = [process.execPath, `--inspect=127.0.0.1:${low}`, '-e'];
    const server = await start([...inspect, `${LISTENING}.listen(${high}, '127.0.0.1')`]);
    assert.equal(server.port, high);
    assert.deepEqual(await server.otherPorts(), []);
  });

  test('a command is found by its own port if its child listens before', async () => {
    const [low, high] = await inOrder(findFreePorts(2));
    const mock = `${LISTENING}.listen(${low}, '127.0.0.1', () => process.send(1)); process.once('disconnect', () => process.exit())`;
    const server = await start(
      program(`
        const { spawn } = require('child_process');
        const stdio = ['ignore', 'inherit', 'inherit', 'ipc'];
        const child = spawn(process.execPath, ['-e', ${JSON.stringify(mock)}], { stdio });
        child.once('message', () => setTimeout(() => ${LISTENING}.listen(${high}, '127.0.0.1'), 50));`),
    );
    assert.equal(server.port, high);
    assert.deepEqual(await server.otherPorts(), [low]);
  });

  test('a command without a port is found by the port of its child', async () => {
    const port = await findFreePort();
    const child = `${LISTENING}.listen(${port}, '127.0.0.1'); process.once('disconnect', () => process.exit())`;
    const server = await start(
      program(`
        const stdio = ['ignore', 'inherit', 'inherit', 'ipc'];
        require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio });`),
    );
    assert.equal(server.port, port);
  });

  test('a command reports the other ports it serves', async () => {
    const [low, high] = await inOrder(findFreePorts(2));
    const both = `${LISTENING}.listen(${low}, () => ${LISTENING}.listen(${high}, () => console.log('both')))`;
    const output = new PassThrough();
    const server = await start(program(both), { onOutput: (chunk) => output.write(chunk) });
    await once(output, 'data');
    assert.equal(server.port, low);
    assert.deepEqual(await server.otherPorts(), [high]);
  });

  test('a process that left the group of its command and keeps its output is released', async () => {
    const leaving = `
      process.on('SIGPIPE', () => {});
      process.stdout.on('error', () => process.exit());
      setInterval(() => console.log(process.pid), 10);`;
    const server = `
      const options = { detached: true, stdio: ['ignore', 'inherit', 'inherit'] };
      require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(leaving)}], options).unref();
      ${LISTENING}.listen(0)`;
    const caller = node(`
      import(${JSON.stringify(import.meta.resolve('../../../dist/process/command/start-command.js'))})
        .then(async ({ startCommand }) => {
          let left;
          const output = new Promise((resolve) => { left = resolve; });
          const options = { timeoutMs: 15000, onOutput: left };
          const server = await startCommand(${JSON.stringify(program(server))}, options);
          const pid = Number(String(await output).split('\\n')[0]);
          await server.stop();
          process.send(pid, () => process.disconnect());
        });`);
    const [pid] = await once(caller, 'message');
    cleanups.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
    const [code] = await once(caller, 'exit');
    assert.equal(code, 0);
    await until(() => hasEnded(pid));
  });

  test('a command leaves no process behind', async () => {
    const ignoring = `process.on('SIGTERM', () => {}); process.send(1); setInterval(() => {}, 1e6)`;
    const server = await start(
      program(`
        const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
        require('child_process')
          .spawn(process.execPath, ['-e', ${JSON.stringify(ignoring)}], { stdio })
          .once('message', () => ${LISTENING}.listen(0));`),
    );
    const [, child] = findProcessTree(server.pid);
    assert.ok(isRunning(child));
    await server.stop();
    assert.ok(hasEnded(child));
  });

  test('a command ends when this process exits', async () => {
    const caller = node(`
      import(${JSON.stringify(import.meta.resolve('../../../dist/process/command/start-command.js'))})
        .then(({ startCommand }) => startCommand(${JSON.stringify(program(`${LISTENING}.listen(0)`))}, { timeoutMs: 15000 }))
        .then(({ pid }) => process.send(pid, () => process.exit()));`);
    const [pid] = await once(caller, 'message');
    cleanups.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
    await until(() => hasEnded(pid));
  });

  describe('a command ends when this process is ended', () => {
    const started = `
      import(${JSON.stringify(import.meta.resolve('../../../dist/process/command/start-command.js'))})
        .then(({ startCommand }) => startCommand(${JSON.stringify(program(`${LISTENING}.listen(0)`))}, { timeoutMs: 15000 }))
        .then(({ pid }) => process.send(pid));`;
    /** Starts a process that starts a command; gives both. */
    async function startCaller(before = '') {
      const caller = node(before + started);
      const [pid] = await once(caller, 'message');
      cleanups.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
      return { caller, pid };
    }

    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL']) {
      test(`by ${signal}, of which it ends`, async () => {
        const { caller, pid } = await startCaller();
        caller.kill(signal);
        const [code, by] = await once(caller, 'exit');
        assert.deepEqual([code, by], [null, signal]);
        await until(() => hasEnded(pid));
      });
    }

    test('by a library that ends it where nobody else listens, as signal-exit does', async () => {
      const { caller, pid } = await startCaller(`
        const end = (signal) => {
          if (process.listeners(signal).length > 1) return;
          process.off(signal, end);
          process.kill(process.pid, signal);
        };
        process.on('SIGINT', end);`);
      caller.kill('SIGINT');
      const [, by] = await once(caller, 'exit');
      assert.equal(by, 'SIGINT');
      await until(() => hasEnded(pid));
    });

    test('and not before the application that listens has decided', async () => {
      const { caller, pid } = await startCaller(`
        process.once('SIGTERM', () => process.send('asked'));
        process.on('message', () => process.exit(7));`);
      caller.kill('SIGTERM');
      assert.deepEqual((await once(caller, 'message'))[0], 'asked');
      assert.ok(isRunning(pid));
      caller.send('end');
      const [code] = await once(caller, 'exit');
      assert.equal(code, 7);
      await until(() => hasEnded(pid));
    });
  });

  test('a command reports how it ended', async () => {
    const text = `process.on('SIGUSR2', () => { throw new Error('no database') }); ${LISTENING}.listen(0)`;
    const server = await start(program(text));
    process.kill(server.pid, 'SIGUSR2');
    assert.equal(await server.exited, 'ended with exit code 1: Error: no database');
  });

  test('waiting for a command can be aborted', async () => {
    const controller = new AbortController();
    const output = [];
    const starting = start(program(`console.log(process.pid); setInterval(() => {}, 1e6)`), {
      signal: controller.signal,
      onOutput(chunk) {
        output.push(chunk);
        controller.abort(new Error('enough'));
      },
    });
    await assert.rejects(starting, { message: 'enough' });
    assert.ok(hasEnded(Number(output.join(''))));
  });

  describe('a command that cannot be loaded', () => {
    const failures = {
      'no such program': [['no-such-server'], 'cannot start `no-such-server`: no such program'],
      'not a program': [
        [import.meta.dirname ?? '/tmp'],
        /^cannot start `.*`: it is a directory; try -- node .*$/,
      ],
      'nothing named': [[], 'cannot start ``: no program is named'],
      'ends early': [
        program('console.log("bye"); process.exitCode = 3'),
        /^`.*` ended with exit code 3 before it listened on any port: bye$/,
      ],
      'ends early without a word': [
        program('process.kill(process.pid, "SIGKILL")'),
        /^`.*` was ended by SIGKILL before it listened on any port$/,
      ],
      throws: [
        program(
          `console.error('\\x1b[31mTypeError: bad configuration\\x1b[0m\\n    at stack'); process.exitCode = 1`,
        ),
        /^`.*` ended with exit code 1 before it listened on any port: TypeError: bad configuration$/,
      ],
    };
    for (const [what, [command, message]] of Object.entries(failures)) {
      test(`a command is refused: ${what}`, async () => {
        await assert.rejects(start(command), { code: 'ERR_MILLRACE_COMMAND', message });
        assert.deepEqual(findProcessTree(process.pid), [process.pid]);
      });
    }

    /** How one fails that is late. The time grows with each try: a slow machine may not have got so far before. */
    async function assertLate(command, options, message) {
      await retried(
        async (attempt) => {
          const timeoutMs = 100 * 4 ** attempt;
          const error = await start(command, { ...options, timeoutMs }).catch((it) => it);
          return { error, seconds: timeoutMs / 1000 };
        },
        ({ error, seconds }) => {
          assert.equal(error.code, 'ERR_MILLRACE_COMMAND');
          assert.equal(error.message, `\`${command.join(' ')}\` ${message(seconds)}`);
        },
      );
      assert.deepEqual(findProcessTree(process.pid), [process.pid]);
    }

    test('a command that does not listen is refused', async () => {
      await assertLate(
        program('console.log("thinking"); setInterval(() => {}, 1e6)'),
        {},
        (seconds) => `does not listen on any port after ${seconds} s: thinking`,
      );
    });

    test('a command that listens on another port is refused', async () => {
      const [port, other] = await inOrder(findFreePorts(2));
      await assertLate(
        program(`${LISTENING}.listen(${other})`),
        { port },
        (seconds) => `does not listen on port ${port} after ${seconds} s, only on ${other}`,
      );
    });

    test('a command whose port is in use is refused', async () => {
      const port = await listen(createServer(), 0, '127.0.0.1');
      await assert.rejects(start(program(`${LISTENING}.listen(${port}, '127.0.0.1')`), { port }), {
        message: new RegExp(`before it listened on port ${port}: Error: listen EADDRINUSE`),
      });
    });
  });
});

/** Several, the lowest first. */
async function inOrder(ports) {
  return (await ports).toSorted((a, b) => a - b);
}

/** Gone, or only not yet collected by its parent. */
function hasEnded(pid) {
  return !isRunning(pid) || stateOf(pid) === 'Z';
}

function stateOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '')[0];
  } catch {
    return 'gone';
  }
}
