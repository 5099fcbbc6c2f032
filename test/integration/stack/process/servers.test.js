// What becomes of servers on the stack: how they are made, listen, time out, close, listen again and are gone.
// With MILLRACE_STACK=node it is Node's own servers that are tested, but for what Node has not.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inherits, promisify } from 'node:util';
import { isFull } from '../../../fixtures/size.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const NATIVE = process.env.MILLRACE_STACK !== 'node';
const skip = !NATIVE && 'only of the stack';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const file = (name) => fileURLToPath(new URL(`../../../fixtures/stack/${name}`, import.meta.url));

const hello = (_req, res) => res.end('hello');

/** A server that listens, for the time of the test `t`. */
async function listen(t, server, ...where) {
  t.after(() => closed(server));
  server.listen(...(where.length > 0 ? where : [0, '127.0.0.1']));
  await once(server, 'listening');
  return server;
}

function closed(server) {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

async function served(address) {
  const where = typeof address === 'string' ? { socketPath: address } : { port: address.port };
  const request = http.get({ host: '127.0.0.1', ...where, agent: false });
  const [response] = await once(request, 'response');
  return (await response.setEncoding('utf8').toArray()).join('');
}

/** How many connections this server has served natively. */
function natively(server) {
  return NATIVE ? server.stats().connections.native : undefined;
}

describe('a server that is closed', { timeout: 180_000 }, () => {
  const [first, last] = isFull ? [2000, 12_000] : [500, 2500];
  test(`memory does not grow over ${last - first} closed servers`, {
    skip,
    timeout: 120_000,
  }, async () => {
    const flags = ['--expose-gc', '--max-semi-space-size=1', '--import', REGISTER];
    const args = [...flags, file('process/many-servers.js'), `${first}`, `${last}`];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { before, after } = JSON.parse(stdout);
    assert.ok(after.heapUsed - before.heapUsed < 1e6 + 100 * (last - first), stdout);
    assert.ok(after.rss - before.rss < 32e6, stdout);
  });

  test('a closed server leaves no connection to the next one', async (t) => {
    const first = http.createServer(hello);
    const second = http.createServer(hello);
    const seen = [];
    await listen(t, first);
    second.on('connection', () => seen.push('second'));
    first.on('connection', (socket) => {
      seen.push('first');
      socket.destroy();
      // The next listens before the other connection, which has arrived with this one, is looked at.
      first.close(() => second.listen(0, '127.0.0.1'));
    });
    const { port } = first.address();
    const clients = [net.connect(port, '127.0.0.1'), net.connect(port, '127.0.0.1')];
    const ends = clients.map((client) => new Promise((resolve) => client.on('close', resolve)));
    for (const client of clients) client.on('error', () => {}).resume();
    await Promise.all([once(second, 'listening'), ...ends]);
    t.after(() => closed(second));
    assert.equal(await served(second.address()), 'hello');
    // Node takes both, if they came together, before anything else is done.
    assert.deepEqual(
      seen.filter((name) => name === 'second'),
      ['second'],
    );
  });

  test('a closed server listens again and continues its counters', async (t) => {
    const server = http.createServer(hello);
    for (let round = 1; round <= 3; round++) {
      await listen(t, server);
      assert.equal(await served(server.address()), 'hello');
      await closed(server);
      assert.equal(server.listening, false);
      assert.equal(natively(server), NATIVE ? round : undefined);
    }
  });

  test('a closed server listens again while it has a connection', async (t) => {
    const held = [];
    const server = http.createServer((req, res) =>
      held.length > 0 ? hello(req, res) : held.push(res),
    );
    await listen(t, server);
    const socket = net.connect(server.address().port, '127.0.0.1');
    // A connection without a request would end with `close` on Node 26.
    socket.write(GET);
    await once(server, 'request');
    server.close();
    await listen(t, server);
    held[0].end('hello');
    assert.match(`${await once(socket, 'data')}`, /hello$/);
    assert.equal(await served(server.address()), 'hello');
    socket.destroy();
    assert.equal(natively(server), NATIVE ? 2 : undefined);
  });

  test('a server returns its counters and accepts limits', { skip }, async (t) => {
    const server = await listen(t, http.createServer(hello));
    await served(server.address());
    await closed(server);
    server.maxPipelinedRequests = 3;
    const { connections, requests } = server.stats();
    assert.deepEqual(connections, {
      open: 0,
      native: 1,
      fallback: 0,
      lost: 0,
      moved: 0,
      relayed: 0,
    });
    assert.deepEqual(requests, { inFlight: 0, native: 1, cached: 0, fallback: 0, unowned: 0 });
  });
});

describe('limits of the stack in the options of a server', { skip, timeout: 60_000 }, () => {
  function Old(options) {
    http.Server.call(this, options);
  }
  inherits(Old, http.Server);
  const ways = {
    'http.createServer': (options) => http.createServer(options),
    'new http.Server': (options) => new http.Server(options),
    'http.Server without new': (options) => http.Server(options),
    'a class that extends http.Server': (options) => new (class extends http.Server {})(options),
    'a class of the old kind': (options) => new Old(options),
    'https.createServer': (options) => https.createServer(options),
    'new https.Server': (options) => new https.Server(options),
    'https.Server without new': (options) => https.Server(options),
  };
  for (const [name, make] of Object.entries(ways)) {
    test(`limits of the stack are accepted by ${name}`, () => {
      const server = make({ maxPipelinedRequests: 5, responseTimeout: 1_000 });
      assert.equal(server.maxPipelinedRequests, 5);
      assert.equal(server.responseTimeout, 1_000);
      assert.equal(make().maxPipelinedRequests, 256);
      assert.equal(make({ maxPipelinedRequests: 0 }).maxPipelinedRequests, 256);
    });
  }

  test('classes and servers are the same as before', () => {
    for (const { Server, createServer } of [http, https]) {
      const server = new Server();
      assert.ok(server instanceof Server && server instanceof net.Server);
      assert.equal(server.constructor, Server);
      assert.equal(Object.getPrototypeOf(server), Server.prototype);
      assert.equal(Server.name, 'Server');
      assert.equal(createServer.name, 'createServer');
      assert.equal(createServer.length, 2);
      assert.ok(createServer() instanceof Server);
      assert.deepEqual(Object.keys(Server.prototype).includes('constructor'), false);
    }
  });
});

describe('a server that listens', { timeout: 60_000 }, () => {
  test('a second call of listen is an error and changes nothing', async (t) => {
    const server = await listen(t, http.createServer(hello));
    const { port } = server.address();
    assert.throws(() => server.listen(0), { code: 'ERR_SERVER_ALREADY_LISTEN' });
    assert.equal(server.address().port, port);
    assert.equal(await served({ port }), 'hello');
    assert.equal(natively(server), NATIVE ? 1 : undefined);
  });

  test('a server can listen on another port after EADDRINUSE', async (t) => {
    const { port } = (await listen(t, http.createServer())).address();
    const server = http.createServer(hello);
    server.listen(port, '127.0.0.1');
    assert.equal((await once(server, 'error'))[0].code, 'EADDRINUSE');
    await listen(t, server);
    assert.equal(await served(server.address()), 'hello');
  });

  test('a server listens on a descriptor', async (t) => {
    const listening = net.createServer().listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const address = listening.address();
    const child = fork(file('robust-server.js'), [JSON.stringify({ fd: 3 })], {
      execArgv: ['--import', REGISTER],
      stdio: ['ignore', 'inherit', 'inherit', listening._handle, 'ipc'],
    });
    t.after(() => child.kill('SIGKILL'));
    const [told] = await once(child, 'message');
    listening.close();
    assert.equal(told.listening?.port, address.port);
    assert.equal(await served(address), 'hello');
  });

  test('a server does not listen at the path of an existing socket', async (t) => {
    const path = join(tmpdir(), `millrace-stale-${process.pid}.sock`);
    const child = fork(file('robust-server.js'), [JSON.stringify({ path })]);
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const server = http.createServer(hello);
    server.listen(path);
    assert.equal((await once(server, 'error'))[0].code, 'EADDRINUSE');
    await rm(path);
    await listen(t, server, path);
    assert.equal(await served(path), 'hello');
    assert.equal(natively(server), NATIVE ? 1 : undefined);
    await closed(server);
    assert.equal(existsSync(path), false);
  });
});

describe('a timeout of a server', { timeout: 60_000 }, () => {
  for (const [name, set] of [
    ['set with a listener', (server, listener) => server.setTimeout(30, listener)],
    [
      'with a listener of the event',
      (server, listener) => server.setTimeout(30).on('timeout', listener),
    ],
    [
      'as a property',
      (server, listener) => Object.assign(server, { timeout: 30 }).on('timeout', listener),
    ],
  ]) {
    test(`${name} is called with the connection and does not close it`, async (t) => {
      const server = await listen(t, http.createServer(hello));
      const told = new Promise((resolve) => set(server, resolve));
      assert.equal(server.timeout, 30);
      const client = net.connect(server.address().port, '127.0.0.1');
      const [connection] = await once(server, 'connection');
      assert.equal(await told, connection);
      client.write(GET);
      assert.match(`${await once(client, 'data')}`, /hello$/);
      client.destroy();
    });
  }

  test('a timeout without a listener closes the connection', async (t) => {
    const server = await listen(
      t,
      http.createServer(() => {}),
    );
    server.setTimeout(30);
    const client = net.connect(server.address().port, '127.0.0.1').resume();
    client.write(GET);
    await once(client, 'close');
  });
});

describe('the life of a process', { timeout: 60_000 }, () => {
  /** Ends by itself unless its server keeps it; prints the server's port. */
  function run(t, code) {
    const child = spawn(process.execPath, [
      ...['--import', REGISTER, '--input-type=module', '-e'],
      `import http from 'node:http';
      const server = http.createServer((_req, res) => { res.end('hello'); server.close(); });
      const tell = () => process.stdout.write(String(server.address().port));
      ${code}`,
    ]);
    child.stderr.pipe(process.stderr);
    t.after(() => child.kill('SIGKILL'));
    return child;
  }
  const listening = "server.listen(0, '127.0.0.1', tell)";

  for (const [name, code] of [
    ['unref', `${listening}.unref();`],
    ['unref before it listens', `server.unref(); ${listening};`],
    ['unref when it listens', `${listening}.on('listening', () => server.unref());`],
    ['ref and unref', `${listening}.ref().unref();`],
  ]) {
    test(`a process is not kept alive by a server after ${name}`, async (t) => {
      assert.deepEqual(await once(run(t, code), 'exit'), [0, null]);
    });
  }

  for (const [name, code] of [
    ['', `${listening};`],
    [' after unref and ref', `${listening}.unref().ref();`],
    [
      ' after unref and ref when it listens',
      `${listening}.on('listening', () => server.unref().ref());`,
    ],
  ]) {
    test(`a process is kept alive by a server${name} until it is closed`, async (t) => {
      const child = run(t, code);
      const exit = once(child, 'exit');
      const [port] = await once(child.stdout, 'data');
      assert.equal(await served({ port: Number(port) }), 'hello');
      assert.deepEqual(await exit, [0, null]);
    });
  }
});
