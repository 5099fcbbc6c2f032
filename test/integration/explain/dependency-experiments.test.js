// Experiments of the probe with what a service calls: to the application they are as a faster or slower service.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { request, requestJson, served } from '../../fixtures/explain/probed.js';

const service = fileURLToPath(new URL('../../fixtures/probe/caller.mjs', import.meta.url));
const CLIENTS = ['http', 'kept', 'head', 'fetch', 'axios', 'got', 'undici'];

describe('calls from memory', () => {
  test('are answered as by the service, each client observes the same', async () => {
    await withCalled(async ({ to, counts }) => {
      await served({ service }, async ({ hub, port }) => {
        const seen = {};
        for (const client of CLIENTS) {
          await requestJson(port, `/${client}?to=${to}`);
          // The second one has a kept connection, as one from memory has.
          seen[client] = await requestJson(port, `/${client}?to=${to}`);
        }
        await hub.command('answerFromMemory', { origin: to });
        for (const client of CLIENTS) await requestJson(port, `/${client}?to=${to}`);
        const before = counts.all;
        for (const client of CLIENTS) {
          const answer = await requestJson(port, `/${client}?to=${to}`);
          assert.deepEqual(answer, seen[client], client);
          assert.equal(counts.all, before, client);
        }
        const [{ answered, passed }] = await hub.command('answerFromMemory', { origin: null });
        // `http` and `kept` differ in `connection`.
        assert.deepEqual([answered, passed], [CLIENTS.length, CLIENTS.length]);
        await requestJson(port, `/http?to=${to}`);
        await requestJson(port, `/fetch?to=${to}`);
        assert.equal(counts.all, before + 2, 'they go out again');
      });
    });
  });

  test('writes, bodies, other credentials and other fields go out', async () => {
    await withCalled(async ({ to, counts }) => {
      await served({ service }, async ({ hub, port }) => {
        await requestJson(port, `/http?to=${to}`);
        await hub.command('answerFromMemory', { origin: to });
        for (const path of ['post', 'body', 'numbered']) {
          const before = counts.all;
          for (let count = 0; count < 3; count++) await requestJson(port, `/${path}?to=${to}`);
          assert.equal(counts.all, before + 3, path);
        }
        assert.equal(counts.written, 3);
        const body = async (user) => (await requestJson(port, `/as?to=${to}&user=${user}`))[5];
        for (const user of ['ann', 'bob', 'ann', 'bob'])
          assert.equal(await body(user), `answer to ${user}`);
        const [{ answered, passed }] = await hub.command('answerFromMemory', { origin: null });
        assert.deepEqual([answered, passed], [2, 11]);
      });
    });
  });

  test('another service is called as before, and aborted calls end as ever', async () => {
    await withCalled(async ({ to, counts }) => {
      await withCalled(async (other) => {
        await served({ service }, async ({ hub, port }) => {
          const aborted = await requestJson(port, `/aborted?to=${to}`);
          // The first connection reveals the class of the client.
          await requestJson(port, `/fetch?to=${to}`);
          await hub.command('answerFromMemory', { origin: to });
          for (let count = 0; count < 3; count++) {
            await requestJson(port, `/kept?to=${to}`);
            await requestJson(port, `/kept?to=${other.to}`);
            await requestJson(port, `/fetch?to=${to}`);
            await requestJson(port, `/fetch?to=${other.to}`);
            assert.deepEqual(await requestJson(port, `/aborted?to=${to}`), aborted);
          }
          assert.equal(other.counts.all, 6);
          assert.equal(counts.all, 3);
        });
      });
    });
  });

  test('end with millrace', async () => {
    await withCalled(async ({ to, counts }) => {
      await served({ service }, async ({ hub, port }) => {
        await requestJson(port, `/kept?to=${to}`);
        await hub.command('answerFromMemory', { origin: to });
        for (let count = 0; count < 3; count++) {
          await requestJson(port, `/kept?to=${to}`);
          await requestJson(port, `/fetch?to=${to}`);
        }
        const before = counts.all;
        await hub.close();
        // The channel's end reaches the service before requests that are made after it was seen.
        await requestJson(port, `/post?to=${to}`);
        await requestJson(port, `/kept?to=${to}`);
        await requestJson(port, `/fetch?to=${to}`);
        assert.equal(counts.all, before + 3);
      });
    });
  });
});

describe('delayed exchanges', () => {
  test('begin later, in their order, and only with that peer', async () => {
    await withLines(async ({ port: to, lines }) => {
      await withLines(async (other) => {
        await served({}, async ({ hub, drive }) => {
          const timed = async (peer, requests = 4) => {
            const from = performance.now();
            await drive(`/line?to=${peer}`, { connections: 1, requests });
            return (performance.now() - from) / requests;
          };
          await timed(to);
          await timed(other.port);
          await hub.command('exchangeDelay', { origin: `tcp://127.0.0.1:${to}`, ms: 60 });
          assert.ok((await timed(to)) >= 59);
          assert.ok((await timed(other.port, 20)) < 59);
          assert.deepEqual(await hub.command('exchangeDelay', { origin: '', ms: 0 }), [4]);
          assert.ok((await timed(to, 20)) < 59);
          assert.deepEqual([...new Set(lines)], ['question\n']);
        });
      });
    });
  });

  test('are passed on at once when the delay or millrace ends', async () => {
    for (const end of ['exchangeDelay', 'close']) {
      await withLines(async ({ port: to }) => {
        await served({}, async ({ hub, port, drive }) => {
          await drive(`/line?to=${to}`, { connections: 1, requests: 2 });
          const origin = `tcp://127.0.0.1:${to}`;
          await hub.command('exchangeDelay', { origin, ms: 600_000 });
          const held = Array.from({ length: 3 }, () => request(port, `/line?to=${to}`));
          // Answered behind them.
          await request(port, '/hello');
          if (end === 'close') await hub.close();
          else await hub.command('exchangeDelay', { origin, ms: 0 });
          assert.deepEqual(await Promise.all(held), [200, 200, 200]);
        });
      });
    }
  });

  test('a write that is held back fails with its connection', async () => {
    await withLines(async ({ port: to, sockets }) => {
      await served({}, async ({ hub, port, drive }) => {
        await drive(`/line?to=${to}`, { connections: 1, requests: 2 });
        const origin = `tcp://127.0.0.1:${to}`;
        await hub.command('exchangeDelay', { origin, ms: 600_000 });
        const failed = request(port, `/written?to=${to}`);
        await request(port, '/hello');
        for (const socket of sockets) socket.resetAndDestroy();
        assert.equal(await failed, 502);
      });
    });
  });
});

/** Runs a service that is called: what it answers depends on the credentials. */
async function withCalled(use) {
  const counts = { all: 0, written: 0 };
  const server = createServer((incoming, response) => {
    counts.all++;
    if (incoming.method === 'POST') counts.written++;
    response.setHeader('x-list', ['one', 'two']);
    response.setHeader('date', 'Thu, 01 Jan 1970 00:00:00 GMT');
    const { authorization = 'all' } = incoming.headers;
    response.write('answer to ');
    setImmediate(() => response.end(authorization));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use({ to: `http://127.0.0.1:${server.address().port}`, counts });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Runs a service that answers each line, of another protocol than HTTP. */
async function withLines(use) {
  const [sockets, lines] = [[], []];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      lines.push(String(chunk));
      socket.write('answer');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use({ port: server.address().port, sockets, lines });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}
