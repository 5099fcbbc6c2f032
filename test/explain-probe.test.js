// The probe inside a server: what it sees of services that show it, what it does when told, and what it leaves alone.
// One file, though long: all of it drives the one service of fixtures/probe.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { attachProbe, attachProbes } from '../dist/explain/attach.js';
import { openProbeHub } from '../dist/explain/probe.js';
import { analyseProfile } from '../dist/explain/profile.js';
import { freePort } from '../dist/process/free-port.js';
import { listeningSockets } from '../dist/process/listening.js';
import { retried } from './retry.js';

const SERVICE = fileURLToPath(new URL('fixtures/probe/service.mjs', import.meta.url));
const STACK = new URL('../dist/http/register.js', import.meta.url).href;
const PATIENCE_MS = 20_000;
const folder = mkdtempSync(join(tmpdir(), 'millrace test of the probe-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('what it sees', () => {
  test('requests, their handlers and routes', async () => {
    const view = await observe('/timer', { connections: 20, requests: 200 });
    assert.equal(view.processes, 1);
    near(view.inFlight, (view.finished * view.handlerMs) / 1000, 0.2);
    assert.ok(view.inFlight > 5 && view.inFlight <= 20, `${view.inFlight} in flight`);
    assert.ok(view.handlerMs >= 49, `${view.handlerMs} ms`);
    near(view.finished * view.seconds, 200, 0.15);
    const [route, ...others] = view.routes;
    assert.deepEqual(others, []);
    assert.equal(route.route, 'GET /timer');
    assert.ok(route.handlerP50Ms >= 45 && route.handlerP50Ms <= route.handlerP99Ms);
    assert.ok(route.syncMs < 25, `${route.syncMs} ms held`);
  });

  test('one slow route among fast ones, and the stalls it makes', async () => {
    const paths = ['/hello/1', '/hello/2', '/hello/3', '/slow'];
    const view = await observe(paths, { connections: 4, requests: 80 });
    const names = view.routes.map(({ route }) => route).sort();
    assert.deepEqual(names, ['GET /hello/:id', 'GET /slow']);
    const slow = view.routes.find(({ route }) => route === 'GET /slow');
    assert.ok(slow.syncMs >= 39 && slow.syncMaxMs >= slow.syncMs);
    assert.ok(slow.syncShare > 0.5, `${slow.syncShare} of the time`);
    const stalls = view.stalls.by.find(({ what }) => what === 'GET /slow');
    assert.ok(stalls?.count >= 3 && stalls.ms / stalls.count < 100, JSON.stringify(view.stalls));
    assert.ok(view.stalls.residualMs > 1, `residual ${view.stalls.residualMs} ms`);
    assert.ok(view.utilisation > 0.6);
  });

  test('what a handler does after a promise that is ready is its synchronous part', async () => {
    const view = await observe('/later', { connections: 2, requests: 40 });
    assert.ok(view.routes[0].syncMs >= 9.9, `${view.routes[0].syncMs} ms held`);
  });

  test('waiting without CPU holds the loop as well', async () => {
    const view = await observe('/wait', { connections: 2, requests: 60 });
    assert.ok(view.utilisation > 0.8);
    assert.equal(view.stalls.by[0].what, 'GET /wait');
  });

  test('a timer that holds the loop is no request', async () => {
    const env = { BLOCK_MS: '100' };
    const view = await observe('/timer', { connections: 8, requests: 200, env });
    assert.equal(view.stalls.by[0].what, 'not a request');
    const { longestMs, residualMs } = view.stalls;
    assert.ok(longestMs >= 20 && residualMs > 1, `${longestMs} ms, residual ${residualMs} ms`);
  });

  test('many short handlers are no stall', async () => {
    const look = () => observe('/hello', { connections: 500, requests: 6000 });
    // The machine may take the core away where the system does not tell of it.
    const view = await retried(look, ({ stalls }) => {
      const own = stalls.by.filter(({ what }) => what === 'GET /hello');
      assert.ok(stalls.share < 0.1, JSON.stringify(stalls));
      assert.deepEqual(own, []);
    });
    assert.ok(view.loops === null || view.eventsPerLoop > 0);
  });

  test('a thread pool that is full, under a loop that is idle', async () => {
    const env = { UV_THREADPOOL_SIZE: '3' };
    const full = () => observe('/pool', { connections: 4, requests: 12, env });
    const view = await retried(full, ({ poolMs, utilisation }) => {
      assert.ok(poolMs.mean > 10 && poolMs.max >= poolMs.mean, `${poolMs.mean}`);
      assert.ok(utilisation < 0.5, `utilisation ${utilisation}`);
    });
    assert.equal(view.threadPoolSize, '3');
    const idle = () => observe('/timer', { connections: 4, requests: 40 });
    const free = await retried(idle, ({ poolMs }) => {
      assert.ok(poolMs.mean < view.poolMs.mean / 3, `${poolMs.mean} of ${view.poolMs.mean}`);
    });
    assert.equal(free.threadPoolSize, null);
  });

  test('collections, and a heap that grows', async () => {
    const view = await observe('/garbage', { connections: 4, requests: 200 });
    assert.ok(view.gc.young > 0 && view.gc.longestMs > 0);
    assert.ok(view.heap.usedMb > 1 && view.heap.limitMb > view.heap.usedMb);
    await served({}, async ({ hub, drive }) => {
      await drive('/leak', { connections: 2, requests: 10 });
      const [before] = await hub.command('collect', {});
      await drive('/leak', { connections: 2, requests: 50 });
      const [then] = await hub.command('collect', {});
      assert.ok(then > before + 50 * 10_000 * 8, `${before} → ${then}`);
    });
  });

  test('output that is waited for', async () => {
    const view = await observe('/log', { connections: 2, requests: 1000 });
    near(view.output.writes * view.seconds, 1000, 0.15);
    near(view.output.bytes, view.output.writes * 'one line\n'.length, 0.01);
    assert.ok(view.output.share > 0 && view.output.share < 1);
  });

  test('requests that are aborted are not in flight for ever', async () => {
    for (const args of [[], ['--import', STACK]]) {
      await served({ args }, async ({ hub, port, drive }) => {
        const sockets = Array.from({ length: 5 }, () => {
          const socket = connect(port, '127.0.0.1');
          socket.write('GET /forever HTTP/1.1\r\nHost: here\r\n\r\n');
          return socket;
        });
        await until(hub, (view) => view?.inFlight > 4);
        for (const socket of sockets) socket.destroy();
        await until(hub, (view) => view?.inFlight < 0.1);
        const view = await drive('/hello', { connections: 1, requests: 1500 });
        assert.ok(view.inFlight < 1);
      });
    }
  });

  test('calls that wait for a socket of an agent', async () => {
    await withDependency(async (to) => {
      const view = await observe(`/agent?to=${to}`, { connections: 10, requests: 300 });
      const [call, ...others] = view.outbound;
      assert.deepEqual(others, []);
      assert.equal(call.origin, to);
      assert.equal(call.maxSockets, 2);
      assert.ok(call.waitMs > call.answerMs, JSON.stringify(call));
      assert.ok(call.waiting > call.answering && call.answering <= 2.01);
      assert.ok(call.answerMs >= 19 && call.answerP99Ms >= call.answerP50Ms);
      assert.ok(call.answerSpread >= 1 && call.answerSpread < 3, `spread ${call.answerSpread}`);
      near(call.rate, view.finished, 0.1);
      assert.equal(call.failed, 0);
    });
  });

  for (const version of ['undici', 'undici-6', 'undici-5']) {
    test(`calls that wait in a pool of ${version}, and what they are with a larger one`, async () => {
      await withDependency(async (to, dependency) => {
        await served({ env: { UNDICI: version } }, async ({ hub, drive }) => {
          const seen = async () => {
            dependency.most = 0;
            const view = await drive(`/undici?to=${to}`, { connections: 10, requests: 200 });
            const [call] = view.outbound;
            return { call, view, most: dependency.most, finished: view.finished };
          };
          await drive(`/undici?to=${to}`, { connections: 3, requests: 6 });
          const { call, view, most, finished } = await seen();
          assert.equal(most, 2);
          assert.equal(call.origin, to);
          assert.equal(call.maxSockets, 2);
          assert.ok(call.waiting > 5 && call.waiting < 8.5, `${call.waiting} wait`);
          near(call.waitMs, view.handlerMs - call.answerMs, 0.2);
          assert.equal(call.failed, 0);
          assert.deepEqual(await hub.command('maxSockets', { factor: 3 }), [[6]]);
          const wider = await seen();
          assert.equal(wider.most, 6);
          assert.ok(wider.finished > 2 * finished, `${wider.finished} of ${finished}`);
          assert.deepEqual(await hub.command('maxSockets', { factor: 1 }), [[2]]);
          // Those that are too many end when their requests have.
          await seen();
          const again = await seen();
          assert.equal(again.most, 2);
          assert.equal(again.call.failed, 0);
        });
      });
    });
  }

  test('connections that are opened for calls', async () => {
    await withDependency(async (to) => {
      await served({}, async ({ drive }) => {
        const opened = async (path, connections) => {
          await drive(`${path}?to=${to}`, { connections, requests: 6 });
          const view = await drive(`${path}?to=${to}`, { connections, requests: 60 });
          const [{ opened, rate }] = view.outbound;
          return opened / rate;
        };
        near(await opened('/closing', 2), 1, 0.1);
        // Who waits for a socket gets one that is freed.
        assert.equal(await opened('/agent', 6), 0);
        assert.ok((await opened('/fetch', 6)) < 0.2);
      });
    });
  });

  test('calls by fetch', async () => {
    await withDependency(async (to) => {
      const view = await observe(`/fetch?to=${to}`, { connections: 10, requests: 100 });
      const [call] = view.outbound;
      assert.equal(call.origin, to);
      assert.ok(call.answerMs >= 19 && call.answering > call.waiting, JSON.stringify(call));
      assert.equal(call.failed, 0);
      near(call.rate, view.finished, 0.1);
    });
  });

  test('questions and answers of another protocol', async () => {
    const sockets = new Set();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on('data', () => setTimeout(() => socket.write('answer\n'), 30));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    try {
      const view = await observe(`/line?to=${port}`, { connections: 8, requests: 800 });
      const [call, ...others] = view.outbound;
      assert.deepEqual(others, []);
      assert.equal(call.origin, `tcp://127.0.0.1:${port}`);
      near(call.rate, view.finished, 0.1);
      assert.ok(call.answerMs >= 29 && call.answerMs < 60, `${call.answerMs} ms`);
      near(call.answering, (view.finished * 30) / 1000, 0.35);
      assert.equal(call.failed, 0);
      assert.equal(sockets.size, 8);
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test('calls by HTTP are not seen a second time', async () => {
    await withDependency(async (to) => {
      for (const kind of ['agent', 'fetch', 'closing']) {
        const view = await observe(`/${kind}?to=${to}`, { connections: 4, requests: 40 });
        assert.deepEqual(
          view.outbound.map(({ origin }) => origin),
          [to],
          kind,
        );
      }
    });
  });

  test('calls that fail, of both kinds', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const to = `http://127.0.0.1:${server.address().port}`;
    server.close();
    // Refused at once: as many as take a while all the same.
    const view = await observe(`/broken?to=${to}`, { connections: 2, requests: 500 });
    near(view.outbound[0].failed, 1000, 0.15);
    assert.ok(view.outbound[0].answering + view.outbound[0].waiting < 4);
  });

  test('all workers of a cluster, and nothing of what serves nothing', async () => {
    await served({ env: { WORKERS: '2' } }, async ({ hub, drive }) => {
      const view = await drive('/hello', { connections: 40, requests: 2000 });
      assert.equal(view.processes, 2);
      near(view.finished * view.seconds, 2000, 0.15);
      assert.equal(hub.processes.length, 3);
      const roles = hub.processes.map(({ clusterRole, serving }) => `${clusterRole} ${serving}`);
      assert.deepEqual(roles.sort(), ['primary false', 'worker true', 'worker true']);
    });
  });

  test("the same on millrace's own stack", async () => {
    await served({ args: ['--import', STACK] }, async ({ hub, drive }) => {
      const slow = await drive('/slow', { connections: 2, requests: 20 });
      assert.ok(hub.processes[0].stack);
      assert.ok(slow.routes[0].syncMs >= 39);
      assert.equal(slow.stalls.by[0].what, 'GET /slow');
      const timer = await drive('/timer', { connections: 20, requests: 200 });
      assert.ok(timer.handlerMs >= 49 && timer.inFlight > 5);
      await hub.command('spin', { microseconds: 5000 });
      const spun = await drive('/hello', { connections: 4, requests: 100 });
      assert.ok(spun.routes.find(({ route }) => route === 'GET /hello').syncMs >= 5);
    });
  });
});

describe('what it does when told', () => {
  test('spin: busy time for every request, and none after', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/hello', { connections: 1, requests: 5 });
      assert.deepEqual(await hub.command('spin', { microseconds: 5000 }), [null]);
      const spun = await drive('/hello', { connections: 8, requests: 300 });
      assert.ok(spun.routes[0].syncMs >= 5 && spun.utilisation > 0.7, `${spun.utilisation}`);
      await hub.command('spin', { microseconds: 0 });
      const free = await drive('/hello', { connections: 8, requests: 2000 });
      assert.ok(free.routes[0].syncMs < 4);
    });
  });

  test('subscribe: nothing is seen while it is off', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/hello', { connections: 1, requests: 20 });
      await hub.command('subscribe', { on: false });
      const off = await drive('/hello', { connections: 2, requests: 500, samples: false });
      assert.equal(off, null);
      await hub.command('subscribe', { on: true });
      const on = await drive('/hello', { connections: 2, requests: 2000 });
      near(on.finished * on.seconds, 2000, 0.2);
    });
  });

  test('mute: nothing is written, and the application does not notice', async () => {
    await served({}, async ({ hub, drive, output }) => {
      await drive('/log', { connections: 1, requests: 1 });
      await hub.command('mute', { on: true });
      await drive('/log', { connections: 2, requests: 50 });
      await hub.command('mute', { on: false });
      await drive('/log', { connections: 1, requests: 2 });
      await output((text) => text.length >= 27);
      assert.equal(await output(), 'one line\n'.repeat(3));
    });
  });

  test('cork: a response comes in one, unless it is too large', async () => {
    await served({}, async ({ hub, port, drive }) => {
      await drive('/hello', { connections: 1, requests: 1 });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const parts = async () => (await received(port, '/parts', agent)).map(String);
      // What is written while this process is held up comes in one as well.
      const apart = (seen) => assert.equal(seen.join(), 'a,b,c');
      await retried(parts, apart);
      await hub.command('cork', { on: true });
      for (let count = 0; count < 3; count++) assert.deepEqual(await parts(), ['abc']);
      const size = Buffer.concat(await received(port, '/big', agent)).length;
      assert.equal(size, 64 * 65_536);
      await hub.command('cork', { on: false });
      await retried(parts, apart);
      agent.destroy();
    });
  });

  test('maxSockets: waiting calls start at once, and the old bound holds again', {
    timeout: 3 * PATIENCE_MS,
  }, async () => {
    for (const path of ['/agent', '/closing']) {
      await withDependency(async (to, dependency) => {
        await served({}, async ({ hub, drive }) => {
          const seen = async () => {
            dependency.most = 0;
            await drive(`${path}?to=${to}`, { connections: 12, requests: 60 });
            return dependency.most;
          };
          assert.equal(await seen(), 2);
          assert.deepEqual(await hub.command('maxSockets', { factor: 3 }), [[6]]);
          assert.equal(await seen(), 6);
          assert.deepEqual(await hub.command('maxSockets', { factor: 1 }), [[2]]);
          assert.equal(await seen(), 2);
        });
      });
    }
  });

  test('maxSockets: in the midst of calls that wait', async () => {
    await withDependency(async (to, dependency) => {
      await served({}, async ({ hub, drive }) => {
        await drive(`/agent?to=${to}`, { connections: 1, requests: 1 });
        const driven = drive(`/agent?to=${to}`, { connections: 20, requests: 400 });
        await dependency.reaches(2);
        await hub.command('maxSockets', { factor: 4 });
        await dependency.reaches(8);
        await hub.command('maxSockets', { factor: 1 });
        await dependency.falls(2);
        dependency.most = 0;
        await driven;
        assert.ok(dependency.most <= 2, `${dependency.most} at once`);
      });
    });
  });

  test('noDelay: the second part of a question no longer waits for an acknowledgement', async () => {
    const dependency = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => String(chunk).endsWith('\n') && socket.write('answer'));
    });
    dependency.listen(0, '127.0.0.1');
    await once(dependency, 'listening');
    const { port } = dependency.address();
    try {
      await served({}, async ({ hub, drive }) => {
        await drive('/hello', { connections: 1, requests: 2 });
        const handlerMs = async (requests) =>
          // Of what is over at once there is no view.
          (await drive(`/held?to=${port}`, { connections: 1, requests }))?.handlerMs ?? 0;
        // The kernel acknowledges the first ones of a connection at once.
        const held = await retried(
          () => handlerMs(20),
          (ms) => assert.ok(ms > 30, `${ms} ms`),
        );
        await hub.command('noDelay', { on: true });
        const free = await handlerMs(1000);
        assert.ok(free < held / 3, `${free} of ${held} ms`);
        assert.deepEqual(await hub.command('noDelay', { on: false }), [1]);
        await retried(
          () => handlerMs(20),
          (ms) => assert.ok(ms > 30, `${ms} ms`),
        );
        assert.deepEqual(await hub.command('noDelay', { on: false }), [0]);
      });
    } finally {
      dependency.close();
    }
  });

  test('outboundDelay: calls of both kinds wait first', async () => {
    await withDependency(async (to) => {
      await served({}, async ({ hub, drive }) => {
        for (const path of ['/agent', '/fetch']) {
          await drive(`${path}?to=${to}`, { connections: 1, requests: 2 });
          await hub.command('outboundDelay', { ms: 60 });
          const late = await drive(`${path}?to=${to}`, { connections: 2, requests: 10 });
          assert.ok(late.handlerMs >= 78, `${late.handlerMs} ms`);
          assert.deepEqual(await hub.command('outboundDelay', { ms: 0 }), [10]);
          const free = await drive(`${path}?to=${to}`, { connections: 2, requests: 20 });
          assert.ok(free.handlerMs < late.handlerMs - 20, `${free.handlerMs} ms`);
        }
      });
    });
  });

  test('outboundDelay: what the application has kept of fetch is not delayed, and not counted', async () => {
    await withDependency(async (to) => {
      await served({}, async ({ hub, drive }) => {
        await drive(`/kept?to=${to}`, { connections: 1, requests: 2 });
        await hub.command('outboundDelay', { ms: 60 });
        const view = await drive(`/kept?to=${to}`, { connections: 2, requests: 10 });
        near(view.outbound[0].rate, view.finished, 0.2);
        assert.deepEqual(await hub.command('outboundDelay', { ms: 0 }), [0]);
      });
    });
  });

  test('profile: the function that costs is named', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/slow', { connections: 1, requests: 2 });
      const driven = drive('/slow', { connections: 2, requests: 60 });
      const [profile] = await hub.command('profile', { ms: 1000 });
      await driven;
      const { self, inclusive, busyMs, longTasks } = analyseProfile(profile);
      assert.ok(busyMs > 300, `${busyMs} ms`);
      assert.match(`${self[0].name} ${self[0].place}`, /\b(hold|slow) .*service\.mjs:\d+$/);
      assert.ok(inclusive.some(({ name, share }) => name === 'slow' && share > 0.5));
      assert.ok(longTasks[0].ms > 30);
    });
  });

  test('what is not known is refused', async () => {
    await served({}, async ({ hub }) => {
      await assert.rejects(hub.command('nonsense', {}), /unknown command: nonsense/);
    });
  });
});

describe('what it leaves alone', () => {
  const scripts = {
    'an exit code': 'process.exitCode = 3; console.log("out"); console.error("err")',
    'process.exit': 'setTimeout(() => process.exit(4), 10); setInterval(() => {}, 1000)',
    'an uncaught exception': 'setTimeout(() => { throw new Error("bang") }, 1)',
    'an unhandled rejection': 'Promise.reject(new Error("bang"))',
    'an own signal handler': `process.on('SIGTERM', () => { console.log('asked'); process.exit(5) });
      setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM')`,
    'a signal': 'setInterval(() => {}, 1000); process.kill(process.pid, "SIGTERM")',
    'the end of the loop': 'process.on("exit", (code) => console.log("exit", code))',
    beforeExit:
      'process.once("beforeExit", () => { console.log("before"); setImmediate(() => {}) })',
    'the order of callbacks': `setTimeout(() => console.log('timeout'), 0);
      setImmediate(() => setImmediate(() => console.log('immediate')));
      process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('promise'));
      console.log('now')`,
    'output that is replaced': `const { write } = process.stdout; const lines = [];
      process.stdout.write = (text) => lines.push(text); console.log('kept');
      process.stdout.write = write; console.log(lines)`,
    'a server that throws': `const http = require('node:http');
      http.createServer(() => { throw new Error('bang') }).listen(0, function () {
        http.get({ port: this.address().port }).on('error', () => {}) })`,
    'a server that ends': `const http = require('node:http'); const order = [];
      const server = http.createServer((request, response) => {
        process.nextTick(() => order.push('tick')); Promise.resolve().then(() => order.push('promise'));
        setImmediate(() => { order.push('immediate'); response.end('x') }); order.push('handler') });
      server.listen(0, () => http.get({ port: server.address().port, agent: false }, (response) => {
        response.resume().on('end', () => { server.close(); console.log(order.join(), response.headers.connection) }) }))`,
  };

  for (const [what, script] of Object.entries(scripts)) {
    test(what, async () => {
      const hub = await openProbeHub();
      try {
        const file = join(folder, 'script.cjs');
        writeFileSync(file, script);
        const without = await run(file, process.env);
        const probed = await run(file, hub.environment(process.env));
        assert.deepEqual(probed, without);
      } finally {
        await hub.close();
      }
    });
  }

  test('the service goes on when millrace goes', async () => {
    await served({}, async ({ hub, port, drive, output }) => {
      await drive('/log', { connections: 2, requests: 10 });
      await hub.command('mute', { on: true });
      await hub.command('spin', { microseconds: 100_000 });
      await hub.close();
      // The channel's end reaches the service before requests that are made after it was seen.
      await request(port, '/log');
      const from = performance.now();
      for (let count = 0; count < 10; count++) await request(port, '/log');
      assert.ok(performance.now() - from < 900);
      await output((text) => text.length >= 9 * 20);
    });
  });

  test('a path with spaces, and options that are there already', async () => {
    const hub = await openProbeHub();
    const env = hub.environment({ NODE_OPTIONS: '--no-warnings' });
    assert.match(env.NODE_OPTIONS, /^--no-warnings --require \S/);
    assert.ok(existsSync(hub.path));
    await hub.close();
    assert.ok(!existsSync(dirname(hub.path)));
  });

  test('without a millrace that listens', async () => {
    const file = join(folder, 'alone.cjs');
    writeFileSync(file, 'console.log(1)');
    const hub = await openProbeHub();
    const env = hub.environment(process.env);
    await hub.close();
    assert.deepEqual(await run(file, env), { code: 0, signal: null, stdout: '1\n', stderr: '' });
  });
});

describe('a process that already runs', () => {
  test('gets the probe by its debugger, which closes again', { skip: notLinux() }, async () => {
    await served({ probed: false }, async ({ hub, child, drive }) => {
      await attachProbe(child.pid, hub);
      await drive('/log', { connections: 2, requests: 10 });
      const view = await drive('/log', { connections: 2, requests: 1000 });
      near(view.output.writes * view.seconds, 1000, 0.15);
      await assert.rejects(request(9229, '/json/list'), /ECONNREFUSED/);
    });
  });

  test('has its debugger where it was told to', { skip: notLinux() }, async () => {
    const port = await freePort();
    const args = [`--inspect-port=${port}`];
    await served({ probed: false, args }, async ({ hub, child, drive }) => {
      await attachProbe(child.pid, hub);
      await drive('/hello', { connections: 1, requests: 10 });
      await assert.rejects(request(port, '/json/list'), /ECONNREFUSED/);
    });
  });

  for (const where of ['', ', each with a port of its own for the debugger']) {
    test(`has it in the workers of its cluster${where}`, { skip: notLinux() }, async () => {
      const env = { WORKERS: '2' };
      const args = where ? [`--inspect-port=${await freeRun(3)}`] : [];
      await served({ probed: false, env, args }, async ({ hub, child, port, drive }) => {
        const failures = await attachProbes(
          child.pid,
          { host: '127.0.0.1', port },
          hub,
          patience().signal,
        );
        assert.deepEqual(failures, []);
        await drive('/hello', { connections: 4, requests: 10 });
        const view = await drive('/hello', { connections: 40, requests: 2000 });
        assert.equal(view.processes, 2);
        near(view.finished * view.seconds, 2000, 0.15);
        const roles = hub.processes.map(({ clusterRole, serving }) => `${clusterRole} ${serving}`);
        assert.deepEqual(roles, ['worker true', 'worker true']);
        const open = listeningSockets(child.pid).map((socket) => socket.port);
        assert.deepEqual([...new Set(open)], [port], 'no debugger is left open');
      });
    });
  }

  test('has none in workers that serve another port', { skip: notLinux() }, async () => {
    const env = { WORKERS: '4', PORTS: '2' };
    await served({ probed: false, env }, async ({ hub, child, port }) => {
      await attachProbes(child.pid, { host: '127.0.0.1', port }, hub, patience().signal);
      assert.equal(hub.processes.length, 2);
    });
  });

  test("is no cluster's first one whose workers cannot be seen", { skip: notLinux() }, async () => {
    await served({ probed: false, env: { WORKERS: '2' } }, async ({ hub, child }) => {
      const attached = attachProbes(child.pid, null, hub, patience().signal);
      await assert.rejects(attached, /which workers of its cluster serve the port/);
      assert.equal(hub.processes.length, 0);
    });
  });

  test('requests to other ports are none of what is under study', async () => {
    await served({ env: { BESIDE: '1' } }, async ({ hub, port, drive, driveBeside }) => {
      // Before it is told what is: all.
      await driveBeside('/here', { connections: 1, requests: 2 });
      const all = await driveBeside('/here', { connections: 2, requests: 2000 });
      near(all.finished * all.seconds, 2000, 0.1);
      hub.study([port]);
      await onceServing(hub, false);
      assert.equal(await driveBeside('/here', { connections: 2, requests: 2000 }), null);
      assert.equal(await hub.served(1), false);
      const both = Promise.all([
        drive('/timer', { connections: 4, requests: 80 }),
        driveBeside('/here', { connections: 1, requests: 500 }),
      ]);
      assert.equal(await hub.served(PATIENCE_MS), true);
      const [view] = await both;
      assert.deepEqual(
        view.routes.map(({ route }) => route),
        ['GET /timer'],
      );
      hub.study(null);
      const again = await driveBeside('/here', { connections: 2, requests: 2000 });
      assert.ok(again.routes.some(({ route }) => route === 'GET /here'));
    });
  });

  test('a process that ends with its heap full is told, not one that was to end', async () => {
    for (const isMeant of [false, true]) {
      const env = { NODE_OPTIONS: '--max-old-space-size=64' };
      await served({ env }, async ({ hub, child, drive }) => {
        await drive('/hello', { connections: 1, requests: 2 });
        if (isMeant) hub.dismiss();
        const gone = Promise.all([once(hub.events, 'left', patience()), once(child, 'exit')]);
        // Slowly enough to be seen.
        const slowly = { connections: 1, requests: 5000, samples: false };
        await drive(['/timer', '/leak'], slowly).catch(() => {});
        await gone;
        const told = hub.exhausted.map(({ pid }) => pid);
        assert.deepEqual(told, isMeant ? [] : [child.pid]);
        if (!isMeant) assert.ok(hub.exhausted[0].requests > 10);
      });
    }
  });

  test('is left alone if it cannot', { skip: notLinux() }, async () => {
    const hub = await openProbeHub();
    const other = spawn('sleep', ['60']);
    try {
      await once(other, 'spawn');
      const refused = (pid, reason) => assert.rejects(attachProbe(pid, hub), { message: reason });
      await refused(
        other.pid,
        `cannot put the probe into process ${other.pid}: it is sleep, not node`,
      );
      const none = 2 ** 22 + 1;
      await refused(none, `cannot put the probe into process ${none}: there is no such process`);
      assert.equal(other.exitCode, null);
    } finally {
      other.kill();
      await hub.close();
    }
  });
});

/** Waits till whether a process serves what is under study is as wanted. */
async function onceServing(hub, wanted) {
  while (hub.processes.some(({ serving }) => serving) !== wanted) {
    await once(hub.events, 'hello', patience());
  }
}

/** The first of so many ports in a row that are free, below those that the system gives to connections. */
async function freeRun(length) {
  for (let first = 20_000 + (process.pid % 1000) * 10; ; first += length) {
    const servers = Array.from({ length }, () => createTcpServer());
    try {
      for (const [index, server] of servers.entries()) {
        server.listen(first + index, '127.0.0.1');
        await once(server, 'listening');
      }
      return first;
    } catch {
      // Somebody has one of them.
    } finally {
      for (const server of servers) server.close();
    }
  }
}

/** Runs the service, drives it, and returns what the probe saw of that time. */
async function observe(paths, { env = {}, ...how }) {
  let view;
  await served({ env }, async ({ drive }) => {
    // What is compiled and loaded at first is no part of it.
    await drive(paths, { connections: 1, requests: 4 });
    view = await drive(paths, how);
  });
  return view;
}

/** Runs the service with a hub for the time of `use`. */
async function served({ args = [], env = {}, probed = true }, use) {
  const hub = await openProbeHub();
  const all = { ...process.env, ...env };
  const child = spawn(process.execPath, [...args, SERVICE], {
    env: probed ? hub.environment(all) : all,
    stdio: ['ignore', 'pipe', probed ? 'inherit' : 'ignore', 'ipc'],
  });
  let written = '';
  child.stdout.on('data', (chunk) => {
    written += chunk;
  });
  try {
    const [{ port, beside }] = await once(child, 'message');
    // Its line to here is another: the one may be faster than the other.
    while (probed && hub.processes.length === 0) await once(hub.events, 'hello', patience());
    await use({
      hub,
      port,
      beside,
      child,
      drive: (paths, how) => drive(hub, port, paths, how),
      driveBeside: (paths, how) => drive(hub, beside, paths, how),
      async output(enough = () => true) {
        while (!enough(written)) await once(child.stdout, 'data', patience());
        return written;
      },
    });
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.disconnect();
      child.kill('SIGKILL');
      await gone;
    }
    if (existsSync(hub.path)) await hub.close();
  }
}

/** Sends requests over so many connections at a time; returns what the probe saw of that time. */
async function drive(hub, port, paths, { connections, requests, samples = true }) {
  const list = [paths].flat();
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  if (samples) await hub.sampledAfter(performance.now(), PATIENCE_MS);
  const from = performance.now();
  let next = 0;
  const one = async () => {
    while (next < requests) await request(port, list[next++ % list.length], agent);
  };
  await Promise.all(Array.from({ length: connections }, one));
  const to = performance.now();
  agent.destroy();
  if (samples) await hub.sampledAfter(to, PATIENCE_MS);
  return hub.between(from, to);
}

function request(port, path, agent = false) {
  return new Promise((resolve, reject) => {
    const sent = get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
  });
}

/** What comes of a response's body before anything else does, and so on. */
function received(port, path, agent) {
  return new Promise((resolve, reject) => {
    const turns = [];
    let turn = null;
    const sent = get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.on('data', (chunk) => {
        if (turn) turn.push(chunk);
        else {
          turn = [chunk];
          turns.push(turn);
          setImmediate(() => {
            turn = null;
          });
        }
      });
      response.on('end', () => resolve(turns.map((chunks) => Buffer.concat(chunks))));
    });
    sent.on('error', reject);
  });
}

/** Waits till what the probe saw of the last time is as wanted. */
async function until(hub, wanted, lastMs = 150) {
  const { signal } = patience();
  for (;;) {
    await once(hub.events, 'sample', { signal });
    const now = performance.now();
    if (wanted(hub.between(now - lastMs, now))) return;
  }
}

/** A server that takes 20 ms, and knows how many requests it has at once. */
async function withDependency(use) {
  let now = 0;
  const looks = new Set();
  const changed = (by) => {
    now += by;
    dependency.most = Math.max(dependency.most, now);
    for (const look of looks) look(now);
  };
  const when = (wanted) =>
    new Promise((resolve) => {
      const look = (count) => {
        if (!wanted(count)) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
    });
  const dependency = {
    most: 0,
    reaches: (count) => when((now) => now >= count),
    /** The next to come finds fewer. */
    falls: (count) => when((now) => now < count),
  };
  const server = createServer((_, response) => {
    changed(1);
    setTimeout(() => {
      changed(-1);
      response.end('answer');
    }, 20);
  });
  // It ends no connection itself: who has one too many has to.
  server.keepAliveTimeout = 600_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${server.address().port}`, dependency);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function run(file, env) {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [file], { env }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr });
    });
  });
}

function patience() {
  return { signal: AbortSignal.timeout(PATIENCE_MS) };
}

function notLinux() {
  return process.platform === 'linux' ? false : 'needs /proc';
}

function near(value, expected, share) {
  assert.ok(Math.abs(value - expected) <= expected * share, `${value}, not about ${expected}`);
}
