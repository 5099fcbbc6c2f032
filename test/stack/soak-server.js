// The servers of the soak run, in a process of their own: the same handler over TCP and over TLS, and what is left of it all.
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { pattern } from './soak-pattern.js';

const { key, cert, collectEvery, patience } = JSON.parse(process.argv[2]);

const actions = {
  text: (_req, res, n) => known(res, n).end(pattern(n)),
  later: (_req, res, n) => setImmediate(() => known(res, n).end(pattern(n))),
  parts: async (_req, res, n) => {
    known(res, n);
    for (let at = 0; at < n; at += 10_000) {
      res.write(pattern(n).subarray(at, at + 10_000));
      await new Promise(setImmediate);
    }
    res.end();
  },
  hash: async (req, res) => {
    const hash = createHash('sha1');
    req.on('data', (chunk) => hash.update(chunk));
    req.on('end', () => res.end(hash.digest('hex')));
  },
  echo: (req, res) => req.pipe(res),
  never: () => {},
};

const known = (res, length) => res.setHeader('Content-Length', length);

let requests = 0;

function handle(req, res) {
  if (collectEvery && ++requests % collectEvery === 0) globalThis.gc();
  const [, action, n] = req.url.replace('http://a', '').split('/');
  res.sendDate = false;
  // Otherwise it tells a time, which depends on the server's settings.
  res.setHeader('Keep-Alive', 'x');
  actions[action](req, res, Number(n));
}

function upgrade(_req, socket, head) {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
  if (head.length > 0) socket.write(head);
  socket.pipe(socket);
}

const limits = { connectionsCheckingInterval: 100 };
const servers = [
  http.createServer(limits, handle),
  https.createServer({ ...limits, key, cert }, handle),
];
for (const server of servers) {
  server.headersTimeout = 2_000 * patience;
  server.requestTimeout = 20_000 * patience;
  server.keepAliveTimeout = 1_500 * patience;
  server.on('upgrade', upgrade);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}
process.send(servers.map((server) => server.address().port));

/** What a process holds that it could fail to give back. */
async function state() {
  globalThis.gc();
  const connections = servers.map(
    (server) => new Promise((resolve) => server.getConnections((_e, n) => resolve(n))),
  );
  const { heapUsed, rss } = process.memoryUsage();
  return {
    connections: (await Promise.all(connections)).reduce((sum, n) => sum + n),
    stats: servers.map((server) => server.stats()),
    sockets: readdirSync('/proc/self/fd').filter(isSocket).length,
    resources: process.getActiveResourcesInfo().toSorted(),
    heapUsed,
    rss,
  };
}

function isSocket(fd) {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
  } catch {
    // The descriptor of the listing itself.
    return false;
  }
}

process.on('message', async () => process.send(await state()));
process.on('disconnect', () => process.exit());
