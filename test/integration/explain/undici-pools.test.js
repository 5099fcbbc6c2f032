// What the probe does to the bounded pools of undici and to sockets: an experiment ends with all as the application wants it.
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import { connect, createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';

const require = createRequire(import.meta.url);
const { Calls } = require('#internal/probe/outbound/calls.cjs');
const { Fetches } = require('#internal/probe/outbound/fetches.cjs');
const { TcpExchanges } = require('#internal/probe/outbound/tcp-exchanges.cjs');
const { UndiciPools } = require('#internal/probe/outbound/undici-pools.cjs');

/** A server that answers nothing, and knows how many requests it has. */
async function withSilent(use) {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const reached = async (count) => {
    let now = 0;
    while (now < count) {
      await once(server, 'request');
      now++;
    }
  };
  try {
    await use(url, reached);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function hasNoDelay(socket) {
  const symbols = Object.getOwnPropertySymbols(socket);
  return socket[symbols.find(({ description }) => description === 'kSetNoDelay')];
}

for (const version of ['undici', 'undici-6', 'undici-5']) {
  describe(`bounded pools of ${version}`, () => {
    test('clients that are removed from a pool are destroyed with it', async () => {
      const { Pool } = await import(version);
      await withSilent(async (url, reached) => {
        const pools = new UndiciPools(new Calls());
        const pool = new Pool(url, { connections: 2 });
        const ask = () =>
          pool.request({ path: '/', method: 'GET' }).then(String, ({ code }) => code);
        const first = [ask(), ask()];
        await reached(2);
        assert.deepEqual(pools.scale(2), [4]);
        const more = [ask(), ask()];
        await reached(2);
        assert.deepEqual(pools.scale(1), [2]);
        assert.equal(pool.stats.running, 2);
        await pool.destroy();
        const codes = await Promise.all([...first, ...more]);
        assert.deepEqual(new Set(codes), new Set(['UND_ERR_DESTROYED']));
        pools.restore();
      });
    });

    test('a pool that no longer exists is forgotten', async () => {
      const { Pool } = await import(version);
      await withSilent(async (url, reached) => {
        const calls = new Calls();
        const pools = new UndiciPools(calls);
        const pool = new Pool(url, { connections: 2 });
        const asked = pool.request({ path: '/', method: 'GET' }).catch(() => {});
        await reached(1);
        const bound = () => {
          calls.begin(url, null);
          return calls.read(0)[url].maxSockets;
        };
        assert.equal(bound(), 2);
        await pool.destroy();
        await asked;
        assert.deepEqual(pools.scale(1), []);
        assert.equal(bound(), null);
        pools.restore();
      });
    });

    test('one client that cannot be closed does not affect the others', async () => {
      const { Client, Pool } = await import(version);
      await withSilent(async (url, reached) => {
        const pools = new UndiciPools(new Calls());
        const factory = (origin, options) => {
          const client = new Client(origin, options);
          client.close = () => {
            throw new Error('not now');
          };
          return client;
        };
        const both = [
          new Pool(url, { connections: 1, factory }),
          new Pool(url, { connections: 1 }),
        ];
        const asked = [];
        const ask = () => {
          for (const pool of both)
            asked.push(pool.request({ path: '/', method: 'GET' }).catch(String));
        };
        ask();
        await reached(2);
        pools.scale(2);
        ask();
        await reached(2);
        assert.deepEqual(pools.scale(1), [1, 1]);
        await Promise.all(both.map((pool) => pool.destroy()));
        await Promise.all(asked);
        pools.restore();
      });
    });
  });
}

describe('calls of undici', () => {
  /** What is counted of a call that undici reports by these events. */
  function countCall(request, events) {
    const calls = new Calls();
    const fetches = new Fetches(calls);
    fetches.observe(true);
    for (const name of ['request:create', ...events])
      channel(`undici:${name}`).publish({ request });
    const { counters } = structuredClone(calls.read(performance.now()))[request.origin];
    fetches.observe(false);
    return counters;
  }

  test('a tunnel ends when it is asked for, as its end is not always reported', () => {
    const sent = ['client:sendHeaders'];
    const tunnel = { origin: 'http://proxy:3128', method: 'CONNECT' };
    const { ended, answered } = countCall(tunnel, sent);
    assert.deepEqual([ended, answered], [1, 0]);
    assert.equal(countCall({ ...tunnel, method: 'GET', upgrade: 'websocket' }, sent).ended, 1);
    assert.equal(countCall({ ...tunnel, method: 'GET' }, sent).ended, 0);
  });

  test('a call of HTTP/2 waits for its answer from when it was sent, by what older versions report', () => {
    const request = { origin: 'https://there', method: 'GET' };
    assert.equal(countCall(request, ['request:bodySent']).assigned, 1);
  });
});

describe('connections of HTTP', () => {
  test('are no exchanges of another protocol where a proxy is their peer', async () => {
    await withSilent(async (url, reached) => {
      const calls = new Calls();
      const exchanges = new TcpExchanges(calls);
      exchanges.observe(true);
      const { port } = new URL(url);
      const sent = get({
        ...{ host: 'elsewhere.invalid', port: 81 },
        createConnection: () => connect(Number(port), '127.0.0.1'),
      });
      sent.on('error', () => {});
      await reached(1);
      assert.deepEqual(calls.read(performance.now()), {});
      exchanges.observe(false);
      sent.destroy();
    });
  });
});

describe("connections without Nagle's algorithm", () => {
  test("connections without Nagle's algorithm are found even while nothing is observed", async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const exchanges = new TcpExchanges(new Calls());
    const socket = connect(server.address().port, '127.0.0.1');
    try {
      exchanges.observe(true);
      await once(socket, 'connect');
      exchanges.observe(false);
      exchanges.setNoDelay(true);
      socket.write('question');
      assert.equal(hasNoDelay(socket), true);
      assert.equal(exchanges.setNoDelay(false), 1);
    } finally {
      socket.destroy();
      server.close();
    }
  });

  test("the application's setting of Nagle's algorithm is restored, also if it changes in the meantime", async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sockets = [];
    const exchanges = new TcpExchanges(new Calls());
    try {
      exchanges.observe(true);
      for (let count = 0; count < 3; count++) {
        const socket = connect(server.address().port, '127.0.0.1');
        await once(socket, 'connect');
        sockets.push(socket);
      }
      const [plain, told, already] = sockets;
      already.setNoDelay(true);
      exchanges.setNoDelay(true);
      for (const socket of sockets) socket.write('question');
      assert.deepEqual(sockets.map(hasNoDelay), [true, true, true]);
      told.setNoDelay(true);
      assert.equal(exchanges.setNoDelay(false), 2);
      assert.deepEqual(
        [plain, told, already].map((socket) => Boolean(hasNoDelay(socket))),
        [false, true, true],
      );
      assert.ok(sockets.every((socket) => !Object.hasOwn(socket, 'setNoDelay')));
    } finally {
      exchanges.observe(false);
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });
});
