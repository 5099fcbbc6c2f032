// What the probe does with calls of node:http whose agents have a bound: all is as the application wants it, whenever it says so.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';

const require = createRequire(import.meta.url);
const { Calls } = require('#internal/probe/outbound/calls.cjs');
const { ClientRequests } = require('#internal/probe/outbound/client-requests.cjs');

/** A server that answers at once, or upgrades, and the probe's view of the calls that this process makes. */
async function observed(use) {
  const server = createServer((_, response) => response.end('here'));
  const upgraded = new Set();
  server.on('upgrade', (_, socket) => {
    upgraded.add(socket);
    socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const calls = new Calls();
  const requests = new ClientRequests(calls);
  requests.observe(true);
  const { port } = server.address();
  try {
    await use({ port, requests, origin: `http://127.0.0.1:${port}`, calls });
  } finally {
    requests.restore();
    for (const socket of upgraded) socket.destroy();
    server.close();
    server.closeAllConnections();
  }
}

async function call(port, agent) {
  const [response] = await once(get({ host: '127.0.0.1', port, agent }), 'response');
  response.resume();
  await once(response, 'close');
}

describe('the limit of an agent', () => {
  test('the limit of an agent is the one that the application has set in the meantime', async () => {
    await observed(async ({ port, requests }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 2 });
      await call(port, agent);
      assert.deepEqual(requests.agentLimits.scale(2), [4]);
      agent.maxSockets = 10;
      assert.deepEqual(requests.agentLimits.scale(2), [20]);
      assert.deepEqual(requests.agentLimits.scale(1), [10]);
      agent.maxSockets = 0;
      assert.deepEqual(requests.agentLimits.scale(1), [0]);
      agent.maxSockets = 50;
      requests.restore();
      assert.equal(agent.maxSockets, 50);
      agent.destroy();
    });
  });
});

describe('a call in the queue of an agent', () => {
  test('a delayed call that its agent refuses fails by itself', async () => {
    await observed(async ({ port, requests }) => {
      const agent = new Agent({ maxSockets: 2 });
      agent.createConnection = () => {
        throw new Error('options that do not fit');
      };
      assert.throws(() => get({ port, agent }), /do not fit/);
      requests.setDelay(5);
      const [error] = await once(get({ port, agent }), 'error');
      assert.match(error.message, /do not fit/);
    });
  });

  test('a call has ended when its connection belongs to the application', async () => {
    await observed(async ({ port, requests, calls, origin }) => {
      const headers = { connection: 'upgrade', upgrade: 'other' };
      const request = get({ host: '127.0.0.1', port, headers });
      const [, socket] = await once(request, 'upgrade');
      requests.sweep();
      const { ended, failed, answered } = calls.read(performance.now())[origin].counters;
      assert.deepEqual({ ended, failed, answered }, { ended: 1, failed: 0, answered: 0 });
      socket.destroy();
    });
  });
});

test('destinations of HTTP calls are known as such, however many there are', () => {
  const calls = new Calls();
  const names = Array.from({ length: 80 }, (_, index) => `host-${index}`);
  for (const name of names) calls.begin(`http://${name}:80`, null);
  assert.ok(names.every((name) => calls.isHttp(`${name}:80`)));
});
