// A server for the tests of robustness, in a process of its own; what it does is asked for by the request's path.
import cluster from 'node:cluster';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { isMainThread, Worker } from 'node:worker_threads';

const settings = JSON.parse(process.argv[2] ?? '{}');
const { path, fd, properties, policy, threads } = settings;

const actions = {
  '/': (_req, res) => res.end('hello'),
  '/never': () => {},
  '/part': (_req, res) => res.write('part'),
  '/large': (_req, res) => res.end(Buffer.alloc(50_000_000)),
  '/later': (_req, res) => process.once('message', () => res.end('later')),
  '/after': (req, res) => {
    res.writeHead(200, { 'Content-Length': 4 }).write('part');
    req.socket.on('close', () => res.end());
  },
  '/slow': (_req, res) => setTimeout(() => res.end('slow'), 1_000),
  '/throw': () => {
    throw new Error('mine');
  },
  '/exit': () => process.exit(3),
  '/echo': (req, res) => req.pipe(res),
};

function serve(tell) {
  const server = http.createServer((req, res) => actions[req.url](req, res));
  Object.assign(server, properties);
  process.on('uncaughtException', () => {});
  server.on('error', (error) => tell({ failed: error.code }));
  const where = path || fd ? { path, fd } : { port: 0, host: '127.0.0.1' };
  server.listen(where, () => tell({ listening: server.address() }));
  return server;
}

async function state(server) {
  globalThis.gc?.();
  const connections = await new Promise((resolve) => server.getConnections((_e, n) => resolve(n)));
  const { rss, heapUsed } = process.memoryUsage();
  return {
    connections,
    rss,
    heapUsed,
    handles: process.getActiveResourcesInfo(),
    stats: server.stats(),
  };
}

function control(server, tell) {
  process.on('message', async (order) => {
    if (order === 'state') tell(await state(server));
    if (order === 'close') server.close(() => tell({ closed: true }));
    if (order === 'close idle') server.closeIdleConnections();
    if (order === 'close all') server.closeAllConnections();
    if (order === 'unref') server.unref();
  });
}

const tell = (message) => process.send?.(message);
if (policy !== undefined && cluster.isPrimary) {
  cluster.schedulingPolicy = policy;
  const workers = [cluster.fork(), cluster.fork()];
  let listening = 0;
  cluster.on('listening', (_worker, address) => {
    if (++listening === workers.length) tell({ listening: address });
  });
} else if (threads && isMainThread) {
  let worker;
  const start = () => {
    worker = new Worker(new URL(import.meta.url), { argv: [process.argv[2]] });
    worker.on('message', tell);
  };
  start();
  process.on('message', async (order) => {
    if (order === 'again') start();
    if (order !== 'terminate') return;
    const terminated = await worker.terminate();
    tell({ terminated, descriptors: readdirSync('/proc/self/fd').length });
  });
} else if (isMainThread) {
  control(serve(policy === undefined ? tell : () => {}), tell);
} else {
  const { parentPort } = await import('node:worker_threads');
  serve((message) => parentPort.postMessage(message));
}
process.on('disconnect', () => process.exit());
