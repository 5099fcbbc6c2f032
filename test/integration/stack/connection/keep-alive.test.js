// TCP's own probes of silent peers, as a server's options and `socket.setKeepAlive` ask for them: read where the system shows
// the timers of its sockets.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';

const skip = process.platform !== 'linux' && 'reads /proc/net/tcp';

/** Seconds until the connection to this port is probed, from the side that has accepted it; null: it is not to be. */
function probedIn(port) {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').split('\n').slice(1);
  const fields = lines.map((line) => line.trim().split(/\s+/));
  // Established; the timer is of the kind "keepalive".
  const [, , , , , timer] = fields.find((of) => of[1]?.endsWith(local) && of[3] === '01');
  const [kind, ticks] = timer.split(':');
  return kind === '02' ? Number.parseInt(ticks, 16) / 100 : null;
}

/** As above, while a server with these options answers; `listener` sees the request first. */
async function probed(t, options, listener = () => {}) {
  const server = http.createServer(options, (request, response) => {
    listener(request.socket);
    response.end('hello');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  const socket = net.connect(port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(`${await once(socket, 'data')}`, /^HTTP\/1.1 200 /);
  return probedIn(port);
}

const SYSTEM = skip ? 0 : Number(readFileSync('/proc/sys/net/ipv4/tcp_keepalive_time', 'utf8'));
const major = Number.parseInt(process.versions.node, 10);
const on = (...args) => [{}, (socket) => socket.setKeepAlive(...args)];

for (const [what, expected, options, listener] of [
  ['nothing', null, {}],
  ['keepAlive', SYSTEM, { keepAlive: true }],
  ['keepAlive and a delay', 10, { keepAlive: true, keepAliveInitialDelay: 10_000 }],
  ['a delay below a second', SYSTEM, { keepAlive: true, keepAliveInitialDelay: 999 }],
  ['a delay of a second and a half', 1, { keepAlive: true, keepAliveInitialDelay: 1500 }],
  ['a delay that the system refuses', SYSTEM, { keepAlive: true, keepAliveInitialDelay: 4e10 }],
  ['a delay without keepAlive', null, { keepAliveInitialDelay: 10_000 }],
  ['setKeepAlive(true)', SYSTEM, ...on(true)],
  ['setKeepAlive(true, 5000)', 5, ...on(true, 5000)],
  ['setKeepAlive(true, "5000")', 5, ...on(true, '5000')],
  ['setKeepAlive(true, Infinity)', SYSTEM, ...on(true, Infinity)],
  ['setKeepAlive(true, NaN)', SYSTEM, ...on(true, Number.NaN)],
  ['setKeepAlive(true, -5000)', SYSTEM, ...on(true, -5000)],
  ['setKeepAlive(true, 1e300)', SYSTEM, ...on(true, 1e300)],
  ['setKeepAlive(false)', null, { keepAlive: true }, (socket) => socket.setKeepAlive(false)],
  ['setKeepAlive({ ... })', major < 24 ? SYSTEM : 7, ...on({ enable: true, initialDelay: 7000 })],
  ['setKeepAlive with no interval', major < 24 ? 5 : SYSTEM, ...on(true, 5000, 0)],
]) {
  test(`a connection with ${what} is probed after ${expected ?? 'no'} seconds`, {
    skip,
  }, async (t) => {
    const seconds = await probed(t, options, listener);
    if (expected === null) assert.equal(seconds, null);
    else assert.ok(seconds > expected - 1 && seconds <= expected, `${seconds}`);
  });
}

test('a server with any of its options answers requests', async (t) => {
  const options = {
    connectionsCheckingInterval: 1000,
    headersTimeout: 1000,
    highWaterMark: 1,
    insecureHTTPParser: true,
    joinDuplicateHeaders: true,
    keepAlive: true,
    keepAliveInitialDelay: 1000,
    keepAliveTimeout: 1000,
    keepAliveTimeoutBuffer: 1000,
    maxHeaderSize: 1000,
    noDelay: false,
    optimizeEmptyRequests: true,
    rejectNonStandardBodyWrites: true,
    requestTimeout: 1000,
    requireHostHeader: false,
    shouldUpgradeCallback: () => false,
    uniqueHeaders: ['a'],
    allowHalfOpen: false,
    pauseOnConnect: false,
    IncomingMessage: class extends http.IncomingMessage {},
    ServerResponse: class extends http.ServerResponse {},
  };
  const pairs = Object.entries(options).map(([name, value]) => ({ [name]: value }));
  for (const given of [{}, ...pairs, options]) {
    const server = http.createServer(given, (_request, response) => response.end('hello'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    const { port } = server.address();
    const [response] = await once(http.get({ port, agent: false }), 'response');
    assert.equal(response.statusCode, 200, JSON.stringify(given));
    response.resume();
  }
});
