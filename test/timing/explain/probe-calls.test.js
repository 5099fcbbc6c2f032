// What the probe sees of the calls that a server makes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { near, observe, served, withDependency } from '../../fixtures/explain/probed.js';

// Servers and clients wait most of the time.
describe('observations of outbound calls', { concurrency: 3 }, () => {
  test('calls that wait for a socket of an agent are observed', async () => {
    await withDependency(async (to) => {
      const view = await observe(`/agent?to=${to}`, { connections: 10, requests: 160 });
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
    test(`calls that wait in a pool of ${version} are observed, with the pool's size and with a larger one`, async () => {
      await withDependency(async (to, dependency) => {
        await served({ env: { UNDICI: version } }, async ({ hub, drive }) => {
          const seen = async () => {
            dependency.most = 0;
            const view = await drive(`/undici?to=${to}`, { connections: 10, requests: 100 });
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
          // Three times, less what a busy machine takes.
          assert.ok(wider.finished > 1.4 * finished, `${wider.finished} of ${finished}`);
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

  test('connections that are opened for calls are observed', async () => {
    await withDependency(async (to) => {
      await served({}, async ({ drive }) => {
        const opened = async (path, connections) => {
          await drive(`${path}?to=${to}`, { connections, requests: 6 });
          const view = await drive(`${path}?to=${to}`, { connections, requests: 60 });
          const [{ opened, rate }] = view.outbound;
          return opened / rate;
        };
        near(await opened('/closing', 2), 1, 0.1);
        // Who waits for a socket gets one that is freed. A view is cut out of samples at its ends: a trace of
        // what was opened before may be in it, but not one in 60 calls.
        const reopened = await opened('/agent', 6);
        assert.ok(reopened < 1 / 120, `${reopened} per call`);
        assert.ok((await opened('/fetch', 6)) < 0.2);
      });
    });
  });

  test('calls by fetch are observed', async () => {
    await withDependency(async (to) => {
      const view = await observe(`/fetch?to=${to}`, { connections: 10, requests: 100 });
      const [call] = view.outbound;
      assert.equal(call.origin, to);
      assert.ok(call.answerMs >= 19 && call.answering > call.waiting, JSON.stringify(call));
      assert.equal(call.failed, 0);
      near(call.rate, view.finished, 0.1);
    });
  });

  test('requests and responses of another protocol are observed', async () => {
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

  test('calls by HTTP are not counted a second time', async () => {
    await withDependency(async (to) => {
      for (const kind of ['agent', 'fetch', 'closing']) {
        const view = await observe(`/${kind}?to=${to}`, { connections: 4, requests: 40 });
        // A call that began before the probe looked may be taken for one of another protocol; not each of 40.
        const often = view.outbound.filter(({ rate }) => rate * view.seconds > 2);
        assert.deepEqual(
          often.map(({ origin }) => origin),
          [to],
          `${kind}: ${JSON.stringify(view.outbound)}`,
        );
      }
    });
  });

  test('failed calls are observed, of both kinds', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const to = `http://127.0.0.1:${server.address().port}`;
    server.close();
    // Refused at once: as many as take a while all the same.
    const view = await observe(`/broken?to=${to}`, { connections: 2, requests: 500 });
    near(view.outbound[0].failed, 1000, 0.15);
    assert.ok(view.outbound[0].answering + view.outbound[0].waiting < 4);
  });
});
