// What the probe does inside a server when told.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { findHeaviestPaths } from '#internal/explain/flame-graph/paths.js';
import { analyzeProfile } from '#internal/explain/profile/analyze.js';
import { buildCpuGraph } from '#internal/explain/profile/cpu-graph.js';
import { near, PATIENCE_MS, served, withDependency } from '../../fixtures/explain/probed.js';
import { retried } from '../../fixtures/retry.js';

describe('experiments of the probe', { concurrency: 2 }, () => {
  test('spin keeps the loop busy for every request, and stops afterwards', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/hello', { connections: 1, requests: 5 });
      assert.deepEqual(await hub.command('spin', { microseconds: 5000 }), [null]);
      const spun = await drive('/hello', { connections: 8, requests: 300 });
      assert.ok(spun.routes[0].syncMs >= 5 && spun.utilization > 0.7, `${spun.utilization}`);
      await hub.command('spin', { microseconds: 0 });
      const free = await drive('/hello', { connections: 8, requests: 2000 });
      assert.ok(free.routes[0].syncMs < 4);
    });
  });

  test('subscribe turns the observation off and on', async () => {
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

  test('mute discards output, and the application does not notice', async () => {
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

  test('poolJobs counts what begins in the thread pool meanwhile, by kind', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/pool', { connections: 1, requests: 1 });
      const counting = hub.command('poolJobs', { ms: 300 });
      await drive('/pool', { connections: 2, requests: 8 });
      const [counts] = await counting;
      assert.ok(counts.PBKDF2REQUEST > 0, JSON.stringify(counts));
      assert.equal(counts.ZLIB, undefined);
    });
  });

  test('cork sends a response in one piece, unless it is too large', async () => {
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
      // Who waits for a part to be written would wait for ever.
      const steps = Buffer.concat(await received(port, '/steps', agent));
      assert.equal(String(steps), 'ab');
      await hub.command('cork', { on: false });
      await retried(parts, apart);
      agent.destroy();
    });
  });

  test('maxSockets starts waiting calls at once, and the old limit applies again afterwards', {
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

  test('maxSockets can be changed while calls wait', async () => {
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

  test('noDelay sends the second part of a request without waiting for an acknowledgement', async () => {
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

  test('outboundDelay delays calls of both kinds', async () => {
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

  test('outboundDelay does not delay or count a fetch that the application has kept', async () => {
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

  test('profile names the function with the highest cost', async () => {
    await served({}, async ({ hub, drive }) => {
      await drive('/slow', { connections: 1, requests: 2 });
      const driven = drive('/slow', { connections: 2, requests: 60 });
      const [{ profile }] = await hub.command('profile', { ms: 1000 });
      await driven;
      const { self, inclusive, busyMs, longTasks } = analyzeProfile(profile);
      assert.ok(busyMs > 300, `${busyMs} ms`);
      assert.match(`${self[0].name} ${self[0].place}`, /\b(hold|slow) .*service\.mjs:\d+$/);
      assert.ok(inclusive.some(({ name, share }) => name === 'slow' && share > 0.5));
      assert.ok(longTasks[0].ms > 30);
    });
  });

  test('a function with 40 % of the CPU time has 40 % of the graph of a profile', async () => {
    await served({}, async ({ hub, drive, child }) => {
      await drive('/parted', { connections: 1, requests: 20 });
      await retried(
        async () => {
          const profiling = hub.command('profile', { ms: 1500 });
          let profile;
          const ended = profiling.then(([answer]) => (profile = answer));
          while (!profile) await drive('/parted', { connections: 2, requests: 4 });
          await ended;
          return profile;
        },
        ({ pid, profile }) => {
          assert.equal(pid, child.pid);
          const { graph, busy } = buildCpuGraph(profile);
          assert.ok(busy > 0.5, `${busy}`);
          const paths = findHeaviestPaths(graph);
          const [hash] = paths.filter(({ frames }) => frames.at(-1).name === 'hash');
          assert.match(hash.frames.at(-1).place, /service\.mjs:\d+$/);
          assert.ok(Math.abs(hash.share - 0.4) < 0.05, `${hash.share}`);
        },
      );
    });
  });

  test('unknown commands are refused', async () => {
    await served({}, async ({ hub }) => {
      await assert.rejects(hub.command('nonsense', {}), /unknown command: nonsense/);
    });
  });
});

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
