// What the probe does with calls of node:http whose agents have a bound: all is as the application wants it, whenever it says so.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get, request } from 'node:http';
import { Agent as HttpsAgent, request as requestSecurely } from 'node:https';
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

describe('a call of an agent that is not of Node.js', () => {
  /** An agent that tells what it is given, and connects nowhere. */
  class TellingAgent extends HttpsAgent {
    protocols = [];
    createSocket(_, { protocol }, done) {
      this.protocols.push(protocol);
      done(new Error('told'));
    }
  }

  test('which is made later says that it is one of HTTPS', async () => {
    await observed(async ({ requests }) => {
      const agent = new TellingAgent();
      const ask = () => once(requestSecurely({ host: 'localhost', agent }), 'error');
      await ask();
      requests.setDelay(2);
      await ask();
      // As without the probe, then with what its caller no longer tells.
      assert.deepEqual(agent.protocols, [undefined, 'https:']);
    });
  });

  test('which it passes on to another one is a single call', async () => {
    await observed(async ({ port, origin, calls }) => {
      const inner = new Agent();
      const outer = /** @type {any} */ (new Agent());
      outer.createSocket = (request, options) =>
        /** @type {any} */ (inner).addRequest(request, options);
      await call(port, outer);
      const { counters } = calls.read(performance.now())[origin];
      const { ended, answered, waitingMs } = counters;
      assert.deepEqual([ended, answered], [1, 1]);
      const later = calls.read(performance.now() + 1000)[origin]?.counters.waitingMs ?? waitingMs;
      assert.equal(later, waitingMs, 'none waits any more');
    });
  });
});

describe('a call in the queue of an agent', () => {
  test('stays there when the probe leaves', async () => {
    await observed(async ({ port, requests }) => {
      const agent = new Agent({ maxSockets: 1 });
      const both = [
        get({ host: '127.0.0.1', port, agent }),
        get({ host: '127.0.0.1', port, agent }),
      ];
      const [queue] = Object.values(agent.requests);
      assert.equal(queue.length, 1);
      requests.restore();
      assert.equal(Object.values(agent.requests)[0], queue);
      assert.equal(queue.length, 1);
      for (const one of both) {
        const [response] = await once(one, 'response');
        response.resume();
      }
    });
  });

  test('has a connection before its content is sent', async () => {
    await observed(async ({ port, origin, calls }) => {
      const sent = request({ host: '127.0.0.1', port, method: 'PUT', agent: new Agent() });
      sent.flushHeaders();
      await once(sent, 'socket');
      assert.equal(calls.read(performance.now())[origin].counters.assigned, 1);
      sent.end('content');
      const [response] = await once(sent, 'response');
      response.resume();
    });
  });

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
