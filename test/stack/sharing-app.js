// Servers that share a port, in a process of their own: `node sharing-app.js SETTINGS NAME PREFIX [NAME PREFIX ...]`.
//
// Prints a line of JSON for each thing that happens. Takes orders, a line each: `listen NAME`, `close NAME`,
// `again NAME` (both, without a pause), `stats NAME`, `release KEY`, `turn KEY`, `read` (a file, by the pool of threads),
// `terminate` (the threads). What
// becomes of a request is in its query: see `answer`.
import cluster from 'node:cluster';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFile, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { isMainThread, parentPort, threadId, Worker } from 'node:worker_threads';

const [text, ...pairs] = process.argv.slice(2);
const settings = JSON.parse(text);
// How many threads or workers do it all, in place of this thread; who listens only when told to.
const { threads = 0, workers = 0, later = [] } = settings;
// `upgrade`, `hears`: there are listeners for 'upgrade' and 'connect', and for 'connection'.
const { options, properties, upgrade, hears, module } = settings;
const { createServer } = await import(module ?? 'node:http');

/** By name. */
const servers = new Map();
/** By key: what lets a response go on that is held. */
const held = new Map();

// At once, even if the event loop is about to be busy.
function tell(message) {
  writeSync(1, `${JSON.stringify({ ...message, pid: process.pid, thread: threadId })}\n`);
}

function tellError(name, { code, message }, thrown) {
  tell({ said: 'error', name, code, message, thrown });
}

function add(name, prefix) {
  const seen = [];
  const server = createServer({ keepAliveTimeout: 60_000, ...options }, (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    answer({ name, server, seen }, request, response).catch((error) => {
      // A client that has left.
      if (error.code !== 'ECONNRESET') throw error;
    });
  });
  Object.assign(server, properties);
  server.on('error', (error) => tellError(name, error, false));
  if (hears) server.on('connection', ({ remotePort }) => seen.push(`from ${remotePort}`));
  if (upgrade) {
    server.on('connect', (request, socket) => {
      tell({ said: 'connect', name, url: request.url });
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 200 OK\r\nX-Name: ${name}\r\n\r\n`);
    });
    server.on('upgrade', (request, socket, first) => {
      tell({ said: 'upgrade', name, url: request.url });
      const fields = ['Upgrade: echo', 'Connection: Upgrade', `X-Name: ${name}`];
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields.join('\r\n')}\r\n\r\n`);
      socket.write(first);
      socket.on('error', () => {}).pipe(socket);
    });
  }
  servers.set(name, { server, prefix });
}

/**
 * `hold=KEY`: waits for `release KEY`; `begin=KEY`: in the middle of a response of 10 000 000 bytes. `busy=FILE`: computes
 * until there is such a file. `size=N`: so large a body. `cache=SECONDS`. `last=1`: the connection ends. `show=stats|seen|connections|descriptors`.
 */
async function answer({ name, server, seen }, request, response) {
  const query = new URLSearchParams(request.url.split('?')[1]);
  const sum = createHash('sha1');
  let length = 0;
  for await (const part of request) {
    length += part.length;
    sum.update(part);
  }
  if (query.has('busy')) {
    tell({ said: 'busy', name });
    // Nobody waits for longer than that.
    const until = performance.now() + 20_000;
    while (!existsSync(query.get('busy')) && performance.now() < until);
  }
  if (query.has('hold')) await release(name, query.get('hold'));
  if (query.has('cache')) response.cacheDuration = Number(query.get('cache'));
  if (query.has('last')) response.setHeader('Connection', 'close');
  response.setHeader('X-Name', name);
  response.setHeader('X-Url', request.url);
  if (query.has('begin')) {
    response.writeHead(200, { 'Content-Length': 10_000_000 });
    response.write(Buffer.alloc(5_000_000, name));
    await release(name, query.get('begin'));
    response.end(Buffer.alloc(5_000_000, name));
    return;
  }
  if (query.has('size')) {
    response.end(Buffer.alloc(Number(query.get('size')), name));
    return;
  }
  response.end(
    JSON.stringify({
      name,
      pid: process.pid,
      thread: threadId,
      method: request.method,
      url: request.url,
      length,
      sum: sum.digest('hex'),
      from: request.socket.remotePort,
      ...(await show(query.get('show'), server, seen)),
    }),
  );
}

function release(name, key) {
  return new Promise((resolve) => {
    held.set(key, resolve);
    tell({ said: 'holding', name, key });
  });
}

async function show(what, server, seen) {
  switch (what) {
    case 'stats':
      return server.stats();
    case 'seen':
      return { seen };
    case 'connections':
      return {
        connections: await new Promise((resolve) => server.getConnections((_, n) => resolve(n))),
      };
    case 'descriptors':
      return { descriptors: readdirSync('/proc/self/fd').length };
    default:
      return {};
  }
}

function listen(name) {
  const { server, prefix } = servers.get(name);
  try {
    server.listen(prefix, () => tell({ said: 'listening', name, address: server.address() }));
  } catch (error) {
    tellError(name, error, true);
  }
}

function obey(line) {
  const [order, name] = line.split(' ');
  if (order === 'release') {
    held.get(name)?.();
    return;
  }
  if (order === 'turn') tell({ said: 'turn', key: name });
  if (order === 'read') readFile(process.argv[1], () => tell({ said: 'read' }));
  if (!servers.has(name)) return;
  const { server } = servers.get(name);
  if (order === 'listen') listen(name);
  if (order === 'close') server.close((error) => tell({ said: 'closed', name, code: error?.code }));
  if (order === 'again') server.close(() => listen(name));
  if (order === 'stats') tell({ said: 'stats', name, stats: server.stats() });
}

function serve() {
  for (let at = 0; at < pairs.length; at += 2) add(pairs[at], pairs[at + 1]);
  for (const name of servers.keys()) if (!later.includes(name)) listen(name);
}

if (!isMainThread) {
  serve();
  parentPort.on('message', obey);
} else if (cluster.isWorker) {
  serve();
  process.on('message', obey);
  process.on('disconnect', () => process.exit());
} else {
  let hands = [obey];
  if (threads > 0) {
    const all = Array.from(
      { length: threads },
      () =>
        new Worker(new URL(import.meta.url), {
          argv: process.argv.slice(2),
        }),
    );
    hands = all.map((worker) => async (line) => {
      worker.postMessage(line);
      if (line !== 'terminate') return;
      await worker.terminate();
      tell({ said: 'terminated' });
    });
  } else if (workers > 0) {
    const all = Array.from({ length: workers }, () => cluster.fork());
    hands = all.map((worker) => (line) => worker.isConnected() && worker.send(line));
    cluster.on('exit', (worker) => tell({ said: 'worker gone', worker: worker.process.pid }));
  } else {
    serve();
  }
  const orders = createInterface({ input: process.stdin });
  orders.on('line', (line) => {
    for (const hand of hands) hand(line);
  });
  // Whoever started this is gone.
  orders.on('close', () => process.exit());
}
