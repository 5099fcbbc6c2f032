// Users and their connections: closed and open runs, stages, weights, iterations that could not start; what was sent is what
// arrived, by name.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { load } from 'millrace';
import { json, pause, repeat, request, scenario } from 'millrace/scenario';

/** Of each connection the paths that came over it. */
let connections = [];
let most = 0;
/** Sockets of this test: those of the one before may close late. */
let open = new Set();
let delayMs = 0;
const server = createServer(async ({ url, socket }, response) => {
  connections.find((it) => it.socket === socket).paths.push(url);
  if (delayMs > 0) await setTimeout(delayMs);
  response.end(JSON.stringify({ id: socket.remotePort }));
});
server.on('connection', (socket) => {
  connections.push({ socket, paths: [] });
  const own = open.add(socket);
  most = Math.max(most, own.size);
  socket.once('close', () => own.delete(socket));
});
let url;

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  server.closeAllConnections();
  [connections, most, open, delayMs] = [[], 0, new Set(), 0];
});

const paths = () => connections.flatMap((it) => it.paths);
const count = (path) => paths().filter((it) => it === path).length;
const two = () => scenario('two', [request('a', 'GET /a'), request('b', 'GET /b')]);

/** What arrived is what was sent and what the result accounts for. */
function assertTrue(result, names) {
  for (const name of names) {
    const of = result.byName.find((it) => it.name === name);
    // One in flight at the end may not have been read.
    const { sent = 0, inFlightAtEnd = 0 } = of?.requests ?? {};
    const arrived = count(`/${name}`);
    assert.ok(arrived <= sent && arrived >= sent - inFlightAtEnd, `${name}: ${arrived} of ${sent}`);
  }
  const { started, completed, failed, inProgress } = result.iterations;
  assert.equal(started, completed + failed + inProgress);
}

describe('users', { timeout: 30_000 }, () => {
  test('have connections of their own in a closed run, by users or by connections', async () => {
    for (const option of ['users', 'connections']) {
      server.closeAllConnections();
      connections = [];
      const result = await load({ url, scenario: two(), [option]: 5, requests: 40 });
      assert.deepEqual(
        [result.plan.flows.users, result.plan.flows.ownConnections, result.plan.connections],
        [5, true, 5],
      );
      assertTrue(result, ['a', 'b']);
      assert.equal(count('/a'), 40);
      assert.equal(connections.length, 5);
      // Each user does one iteration after the other.
      for (const { paths: own } of connections) {
        assert.ok(
          own.every((path, index) => path === (index % 2 === 0 ? '/a' : '/b')),
          own.join(),
        );
      }
    }
  });

  test('share connections where both are given', async () => {
    const result = await load({ url, scenario: two(), users: 20, connections: 2, requests: 60 });
    assert.deepEqual(
      [result.plan.flows.users, result.plan.flows.ownConnections, result.plan.connections],
      [20, false, 2],
    );
    assertTrue(result, ['a', 'b']);
    assert.equal(connections.length, 2);
  });

  test('share connections in an open run, unless users are given', async () => {
    const shared = await load({ url, scenario: two(), rate: 200, requests: 40, connections: 3 });
    assert.equal(shared.plan.flows.ownConnections, false);
    assert.ok(connections.length <= 3, `${connections.length}`);
    assertTrue(shared, ['a', 'b']);
    assert.deepEqual([shared.iterations.started, shared.plan.model], [40, 'open']);
    connections = [];
    const own = await load({ url, scenario: two(), rate: 200, requests: 40, users: 7 });
    assert.deepEqual([own.plan.flows.users, own.plan.flows.ownConnections], [7, true]);
    assertTrue(own, ['a', 'b']);
    assert.ok(connections.length <= 7, `${connections.length}`);
  });

  test('who are all busy leave iterations of an open run not started', async () => {
    delayMs = 50;
    const result = await load({ url, scenario: two(), rate: 100, duration: '500ms', users: 2 });
    const { started, notStarted, inProgress } = result.iterations;
    // Two users, 100 ms for an iteration: two of ten start.
    assert.ok(started >= 4 && started <= 12, `${started}`);
    assert.ok(Math.abs(started + notStarted - 50) <= 2, `${started} + ${notStarted}`);
    assert.ok(inProgress <= 2);
    assertTrue(result, ['a', 'b']);
  });

  test('have a connection to each server', async (t) => {
    const other = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
    await once(other, 'listening');
    let opened = 0;
    other.on('connection', () => opened++);
    t.after(() => {
      other.closeAllConnections();
      other.close();
    });
    const steps = [
      request('a', 'GET /a'),
      request('o', `GET http://127.0.0.1:${other.address().port}/o`),
    ];
    const result = await load({ url, scenario: scenario('both', steps), users: 3, requests: 30 });
    assert.equal(result.iterations.completed, 30);
    assert.deepEqual([connections.length, opened], [3, 3]);
  });

  test('come and go by stages', async () => {
    const result = await load({
      ...{
        url,
        scenario: scenario('one', [request('a', 'GET /a'), pause('1ms'), request('b', 'GET /b')]),
        users: 1,
      },
      connectionStages: [
        { duration: '0s', connections: 6 },
        { duration: '200ms', connections: 6 },
        { duration: '0s', connections: 1 },
        { duration: '100ms', connections: 1 },
      ],
    });
    assert.equal(most, 6);
    assertTrue(result, ['a', 'b']);
    assert.equal(result.iterations.failed, 0);
  });

  test('do scenarios by their weights', async () => {
    const scenarios = [
      scenario('often', [request('a', 'GET /a')], { weight: 3 }),
      scenario('seldom', [request('b', 'GET /b'), repeat(2, [request('c', 'GET /c')])]),
      scenario('never much', [request('d', 'GET /d')], { weight: 0.001 }),
    ];
    const result = await load({ url, scenario: scenarios, users: 4, requests: 800, seed: 3 });
    const [often, seldom, never] = result.scenarios.map(({ started }) => started);
    assert.equal(often + seldom + never, 800);
    // Five standard deviations.
    assert.ok(Math.abs(seldom - 200) < 5 * Math.sqrt(800 * 0.25 * 0.75), `${seldom}`);
    assert.ok(never < 10);
    assert.deepEqual(['/a', '/b', '/c'].map(count), [often, seldom, 2 * seldom]);
    assertTrue(result, ['a', 'b', 'c', 'd']);
  });

  test('end with the run, whatever they are doing', async () => {
    const steps = [
      request('a', 'GET /a', { save: { id: json('/id') } }),
      pause('0-5ms'),
      request('b', 'GET /b?{{id}}'),
    ];
    const result = await load({
      url,
      scenario: scenario('one', steps),
      users: 10,
      duration: '300ms',
    });
    assertTrue(result, ['a']);
    const used = connections.flatMap(({ socket, paths: own }) =>
      own.filter((it) => it.startsWith('/b')).map((it) => [it, `/b?${socket.remotePort}`]),
    );
    for (const [seen, expected] of used) assert.equal(seen, expected);
    const { sent, inFlightAtEnd } = result.byName.find(({ name }) => name === 'b').requests;
    assert.ok(
      used.length <= sent && used.length >= sent - inFlightAtEnd,
      `${used.length} of ${sent}`,
    );
    assert.ok(result.iterations.inProgress <= 10);
  });
});
