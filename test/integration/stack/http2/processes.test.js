// HTTP/2 by the variable MILLRACE_HTTP2, in processes, workers and threads; what the application's own settings come to.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { fork, spawn } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import domain from 'node:domain';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';
import { ask, connect, send, serve, until } from '../../../fixtures/stack/http2/serve.js';
import { portOf } from '../../../fixtures/stack/listen.js';

const LIMIT = { timeout: 20_000 };
const APPLICATION = fileURLToPath(
  new URL('../../../fixtures/stack/http2/application.js', import.meta.url),
);

/** An application that is not changed; `value` is that of MILLRACE_HTTP2. */
function start(t, args, value) {
  const child = fork(APPLICATION, args, {
    execArgv: ['--import', REGISTER],
    env: { ...process.env, MILLRACE_HTTP2: value },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  t.after(() => child.kill());
  return child;
}

describe('MILLRACE_HTTP2', LIMIT, () => {
  for (const [scheme, where] of [
    ['http', 'alone'],
    ['https', 'alone'],
    ['http', 'cluster'],
    ['https', 'thread'],
  ]) {
    test(`on: ${scheme}, ${where}`, async (t) => {
      const child = start(t, [scheme, where], 'on');
      const [port] = await once(child, 'message');
      const session = connect(t, { scheme, address: () => ({ port }) });
      const came = await Promise.all([ask(session), ask(session)]);
      assert.deepEqual(
        came.map(({ body }) => body),
        Array(2).fill(`2.0 ${where}`),
      );
      if (where === 'alone') return;
      const waiting = send(session, { ':path': '/wait' });
      await once(waiting, 'data');
      const ended = once(child, 'message');
      child.send('end');
      // A thread ends at once, a worker of a cluster when its connections have.
      if (where === 'cluster') {
        await once(session, 'goaway');
        waiting.close(8);
      }
      await waiting.came();
      assert.deepEqual(await ended, ['ended', undefined]);
    });
  }

  test('that is neither on nor off is refused in one line', async (t) => {
    const child = start(t, ['http', 'alone'], 'yes');
    let text = '';
    child.stderr.on('data', (part) => {
      text += part;
    });
    const [code] = await once(child, 'close');
    assert.match(text, /^[^\n]*MILLRACE_HTTP2 must be 'on' or 'off' \(got 'yes'\)\n$/);
    assert.equal(code, 2);
  });
});

describe('what an application has set itself', LIMIT, () => {
  /** The protocol that a server chooses of these. */
  async function chosen(t, options, offered = ['h2', 'http/1.1']) {
    const server = await serve(t, { secure: true, ...options }, (_request, response) =>
      response.end(),
    );
    const socket = tls.connect({
      ...{ port: portOf(server), host: 'localhost', ALPNProtocols: offered },
      rejectUnauthorized: false,
    });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket.alpnProtocol;
  }

  test('ALPNProtocols and ALPNCallback win', async (t) => {
    assert.equal(await chosen(t, {}), 'h2');
    assert.equal(await chosen(t, {}, ['http/1.1']), 'http/1.1');
    assert.equal(await chosen(t, { ALPNProtocols: ['x', 'http/1.1'] }), 'http/1.1');
    assert.equal(await chosen(t, { ALPNCallback: () => 'http/1.1' }), 'http/1.1');
    assert.equal(await chosen(t, { http2: false }), 'http/1.1');
  });
});

describe('contexts and exceptions', LIMIT, () => {
  test('each request has a context of its own', async (t) => {
    const storage = new AsyncLocalStorage();
    const seen = [];
    let number = 0;
    const server = await serve(t, {}, (request, response) => {
      assert.equal(storage.getStore(), undefined);
      const name = `${request.url} ${++number}`;
      storage.run(name, () => {
        const note = () => seen.push([name, storage.getStore()]);
        setImmediate(note);
        process.nextTick(note);
        request.resume().on('end', () => {});
        setTimeout(() => response.end(storage.getStore()), 5);
      });
    });
    const session = connect(t, server);
    const post = (path) => ask(session, { ':method': 'POST', ':path': path }, 'body');
    const came = await Promise.all([post('/a'), post('/b'), post('/c')]);
    assert.deepEqual(
      came.map(({ body }) => body),
      ['/a 1', '/b 2', '/c 3'],
    );
    await until(() => seen.length === 6);
    for (const [name, store] of seen) assert.equal(store, name);
  });

  test('diagnostics channels tell of each request', async (t) => {
    const told = [];
    const names = ['http.server.request.start', 'http.server.response.finish'];
    for (const name of names) {
      const listener = ({ request }) => told.push(`${name} ${request.url} ${request.httpVersion}`);
      diagnostics.subscribe(name, listener);
      t.after(() => diagnostics.unsubscribe(name, listener));
    }
    const session = connect(t, await serve(t, {}, (_request, response) => response.end()));
    await ask(session, { ':path': '/a' });
    await until(() => told.length === 2);
    assert.deepEqual(
      told,
      names.map((name) => `${name} /a 2.0`),
    );
  });

  test("an exception in a handler is its stream's alone", async (t) => {
    const caught = [];
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/domain') {
        const own = domain.create();
        own.on('error', (error) => {
          caught.push(error.message);
          response.destroy();
        });
        own.run(() => {
          setImmediate(() => {
            throw new Error('mine');
          });
        });
      } else response.end('well');
    });
    const session = connect(t, server);
    const [failed, well] = await Promise.all([ask(session, { ':path': '/domain' }), ask(session)]);
    assert.deepEqual([failed.status, well.body], [0, 'well']);
    assert.deepEqual(caught, ['mine']);
    assert.equal((await ask(session)).body, 'well');
  });
});

test('a stream of another process on a shared port is answered 421', LIMIT, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-h2-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const port = await findFreePort();
  const code = (prefix) =>
    `import('node:http').then(({ createServer }) => createServer((request, response) => response.end('${prefix}'))
      .listen('http://*:${port}${prefix}', () => process.send('listening')));`;
  for (const prefix of ['/', '/b/']) {
    const child = spawn(process.execPath, ['--import', REGISTER, '--eval', code(prefix)], {
      env: { ...process.env, MILLRACE_HTTP2: 'on', MILLRACE_PORTS: folder },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    t.after(() => child.kill());
    await once(child, 'message');
  }
  const session = connect(t, { scheme: 'http', address: () => ({ port }) });
  const came = await Promise.all([
    ask(session, { ':path': '/a' }),
    ask(session, { ':path': '/b/c' }),
  ]);
  const statuses = came.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 421]);
});
