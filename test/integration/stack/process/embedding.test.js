// The stack in processes that do what is seldom done: run the event loop within a handler, load the package twice, close others'
// descriptors.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import * as own from '#internal/http/index.js';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const LIMIT = { timeout: 60_000 };
const STOPS = { ...LIMIT, skip: process.platform === 'win32' && 'stops a process' };
const file = (name) => fileURLToPath(new URL(`../../../fixtures/stack/${name}`, import.meta.url));
const root = fileURLToPath(new URL('../../../..', import.meta.url));

function directory(t) {
  const path = mkdtempSync(join(tmpdir(), 'millrace-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** A program on the stack in a process of its own, for the time of the test `t`. */
function start(t, program, args, options = {}) {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child = fork(file(program), args, { env, execArgv: ['--import', REGISTER], ...options });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

const request = (name, path, body = '') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nName: ${name}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

async function built(t) {
  const addon = join(directory(t), 'nested-loop.node');
  const shared = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const flags = ['-shared', '-fPIC', ...shared, '-o', addon, file('addon/nested-loop.c')];
  await promisify(execFile)('cc', flags);
  return addon;
}

async function connect(port) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** The bodies of `count` answers. */
async function bodies(socket, count) {
  const answers = [];
  let received = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    received += chunk;
    for (;;) {
      const head = received.indexOf('\r\n\r\n') + 4;
      const length = Number(/^Content-Length: (\d+)/im.exec(received.slice(0, head))?.[1]);
      if (head < 4 || received.length < head + length) break;
      answers.push(received.slice(head, head + length));
      received = received.slice(head + length);
    }
    if (answers.length === count) return answers;
  }
  throw new Error(`ended after ${answers}`);
}

test(
  'a handler that runs the event loop loses, mixes up and repeats no event',
  STOPS,
  async (t) => {
    const child = start(t, 'addon/nested-loop-server.js', [await built(t)]);
    const [port] = await once(child, 'message');
    const [first, second, third, ...others] = await Promise.all(
      Array.from({ length: 23 }, () => connect(port)),
    );
    const answered = Promise.all([
      bodies(first, 3),
      bodies(second, 2),
      bodies(third, 1),
      ...others.map((socket) => bodies(socket, 10)),
    ]);
    // All that follows arrives at once, in this order.
    child.kill('SIGSTOP');
    const write = (socket, bytes) => new Promise((resolve) => socket.write(bytes, resolve));
    await write(first, request('a', '/wait', 'one') + request('a', '/', 'two') + request('a', '/'));
    await write(second, request('b', '/wait', 'three') + request('b', '/', 'four'));
    const many = Array.from({ length: 10 }, (_, n) => n);
    for (const [index, socket] of others.entries()) {
      const name = `c${index}`;
      const half = index % 2 === 0 ? -3 : undefined;
      const whole = many.map((n) => request(name, `/${n}`, name.repeat(n))).join('');
      await write(socket, whole.slice(0, half));
      if (half) setTimeout(() => socket.write(whole.slice(half)), 50);
    }
    child.kill('SIGCONT');
    await write(third, request('d', '/go', 'five'));
    const last = await connect(port);
    const answeredLast = bodies(last, 1);
    await write(last, request('e', '/go', 'six'));
    const [a, b, d, ...rest] = await answered;
    assert.deepEqual(a, ['a /wait one', 'a / two', 'a / ']);
    assert.deepEqual(b, ['b /wait three', 'b / four']);
    assert.deepEqual(d, ['d /go five']);
    assert.deepEqual(await answeredLast, ['e /go six']);
    for (const [index, answers] of rest.entries()) {
      const expected = many.map((n) => `c${index} /${n} ${`c${index}`.repeat(n)}`);
      assert.deepEqual(answers, expected);
    }
    for (const socket of [first, second, third, last, ...others]) socket.destroy();
  },
);

test(
  'a nested event loop reports connections that came with the request it runs in',
  STOPS,
  async (t) => {
    const child = start(t, 'addon/nested-loop-server.js', [await built(t)]);
    const [port] = await once(child, 'message');
    // Accepted and read in one turn.
    child.kill('SIGSTOP');
    const [waits, goes] = [await connect(port), await connect(port)];
    const go = request('b', '/go', 'two');
    waits.write(request('a', '/wait', 'one'));
    goes.write(go.slice(0, 10));
    const runs = once(child, 'message');
    child.kill('SIGCONT');
    await runs;
    goes.write(go.slice(10));
    assert.deepEqual(await bodies(goes, 1), ['b /go two']);
    assert.deepEqual(await bodies(waits, 1), ['a /wait one']);
    for (const socket of [waits, goes]) socket.destroy();
  },
);

test('memory that JavaScript detaches stays as long as the stack uses it', LIMIT, async () => {
  const flags = ['--expose-gc', '--import', REGISTER, file('addon/detached-memory.js')];
  const { stdout } = await promisify(execFile)(process.execPath, flags, LIMIT);
  assert.equal(stdout, '0 changed');
});

test('one stack serves both copies if the package is loaded twice', LIMIT, async (t) => {
  const copy = directory(t);
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of ['native', 'package.json']) symlinkSync(join(root, name), join(copy, name));
  const load = (name) => import(pathToFileURL(join(copy, 'dist', name)).href);
  await load('http/register.js');
  const other = await load('http/index.js');
  const servers = [http, other.default].map((module, index) =>
    module.createServer({ maxPipelinedRequests: 3 + index }, (request, response) => {
      setImmediate(() => response.end(`${request.headers.name} ${request.url} ${index}`));
    }),
  );
  t.after(() => {
    for (const server of servers) server.close().closeAllConnections();
  });
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  assert.deepEqual(
    servers.map((server) => server.maxPipelinedRequests),
    [3, 4],
  );
  const paths = Array.from({ length: 20 }, (_, n) => `/${n}`);
  for (let round = 0; round < 5; round++) {
    const asked = servers.map(async (server, index) => {
      const socket = await connect(server.address().port);
      socket.write(paths.map((path) => request(round, path)).join(''));
      const answers = await bodies(socket, paths.length);
      assert.deepEqual(
        answers,
        paths.map((path) => `${round} ${path} ${index}`),
      );
      socket.destroy();
    });
    await Promise.all(asked);
  }
  for (const { getStats, isNative } of [own, other]) {
    assert.deepEqual(servers.map(isNative), [true, true]);
    assert.deepEqual(
      servers.map((server) => [server.stats(), getStats(server)].map(countConnections)),
      [
        [5, 5],
        [5, 5],
      ],
    );
  }
});

function countConnections({ connections }) {
  return connections.native;
}

const { platform } = process;
const skip = platform !== 'linux' && 'looks at /proc';

test('a closed poll descriptor is reported once, and then nothing is done', {
  ...LIMIT,
  skip,
}, async (t) => {
  const child = start(t, 'addon/closed-poll-descriptor.js', ['handled']);
  const [{ errors, busy }] = await once(child, 'message');
  assert.equal(errors.length, 1);
  assert.match(errors[0], /^millrace: the HTTP stack receives nothing any more: .*Bad file/);
  assert.ok(busy < 0.5, `busy for ${busy} of the time`);
});

test('a closed poll descriptor ends a process that does not handle its error', {
  ...LIMIT,
  skip,
}, async (t) => {
  const child = start(t, 'addon/closed-poll-descriptor.js', [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const said = text(child.stderr);
  const [code] = await once(child, 'exit');
  assert.equal(code, 1);
  assert.match(await said, /Error: millrace: the HTTP stack receives nothing any more: .*Bad file/);
});

test('a server listens when few descriptors are left', { ...LIMIT, skip }, async (t) => {
  const execArgv = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--import', REGISTER];
  const told = [0, 1, 2, 3, 4, 5, 6].map(async (left) => {
    const child = start(t, 'descriptors/listen-without-descriptors.js', [left], {
      execPath: '/bin/sh',
      execArgv,
    });
    const [message] = await once(child, 'message');
    return message;
  });
  // As Node, which needs one.
  const [none, ...some] = await Promise.all(told);
  assert.deepEqual(none, { failed: 'EMFILE' });
  for (const message of some) assert.deepEqual(message, { body: 'hello' });
});

test('a prefix that cannot be listened to for want of descriptors leaves none behind', {
  ...LIMIT,
  skip,
}, async (t) => {
  const execArgv = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--import', REGISTER];
  const ports = mkdtempSync(join(tmpdir(), 'millrace-ports-'));
  t.after(() => rmSync(ports, { recursive: true, force: true }));
  const env = { ...process.env, MILLRACE_PORTS: ports };
  const failures = [];
  for (const left of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
    const args = [left, await findFreePort()];
    const child = start(t, 'descriptors/prefix-without-descriptors.js', args, {
      execPath: '/bin/sh',
      execArgv,
      env,
    });
    const [{ failed, leaked, body }] = await once(child, 'message');
    assert.equal(body, 'hello', `${left} left, ${failed}`);
    // Fewer than before: Node.js has closed one of its own meanwhile.
    assert.ok(leaked <= 0, `${left} left, ${failed}: ${leaked}`);
    failures.push(failed);
  }
  // Each step, from the lock of the directory to the last duplicate of the listening socket, was short of one.
  const count = failures.findLastIndex((code) => code !== undefined) + 1;
  assert.ok(count >= 3 && !failures.slice(0, count).includes(undefined), failures.join());
});
