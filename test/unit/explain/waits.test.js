// Names and places of waits, and their graph, from samples as the probe sends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sumWeights } from '#internal/explain/flame-graph/paths.js';
import { toWaitPaths } from '#internal/explain/waits/wait-paths.js';
import { buildWaits, countInHandlers } from '#internal/explain/waits/waits-graph.js';

const HANDLER = frame('handler', '/srv/app.js', 10);
const MODULES = '/srv/node_modules';
const EXPRESS = frame('next', `${MODULES}/router/index.js`, 5);
const NODE = frame('emit', 'node:events', 1);

function frame(name, file, line, column = 1) {
  return { name, file, line, column };
}

/** The path of one sample: its frames are given innermost first. */
function path(source, ...frames) {
  const sample = { source: { target: '', phase: '', ...source }, route: 'GET /', ms: 1 };
  const stack = frames.map((_, index) => index);
  const [made] = toWaitPaths([{ frames, samples: [{ ...sample, stack }], requests: 1 }]);
  return made;
}

function nameOf(source, ...frames) {
  return path(source, ...frames, HANDLER).waitsFor;
}

function queueOf(source, ...frames) {
  return path(source, ...frames, HANDLER).queue;
}

test('waits are named by what is waited for', () => {
  const http = { kind: 'http', target: 'http://there:80' };
  assert.equal(nameOf({ ...http, phase: 'connection' }), 'http://there:80: a connection');
  assert.equal(nameOf({ ...http, phase: 'answer' }), 'http://there:80: answer');
  assert.equal(nameOf({ ...http, phase: 'body' }), 'http://there:80: rest of the answer');
  assert.equal(nameOf({ kind: 'dns', target: 'there' }), 'DNS: there');
  assert.equal(nameOf({ kind: 'timer' }), 'timer');
  assert.equal(nameOf({ kind: 'resource', target: 'SCRYPTREQUEST' }), 'thread pool: scrypt');
  assert.equal(nameOf({ kind: 'resource', target: 'ZLIB' }), 'thread pool: compression');
  const random = { kind: 'resource', target: 'RANDOMBYTESREQUEST' };
  assert.equal(nameOf(random), 'thread pool: random bytes');
  const program = { kind: 'resource', target: 'PROCESSWRAP' };
  assert.equal(nameOf(program, frame('spawn', 'node:child_process', 3)), 'child process: spawn');
  assert.equal(nameOf(program), 'child process');
  const output = { kind: 'socket', phase: 'answer' };
  assert.equal(nameOf(output, frame('exec', 'node:child_process', 3)), 'child process: exec');
  assert.equal(nameOf(output, frame('', 'node:child_process', 3)), 'child process');
  assert.equal(nameOf(output, frame('connect', 'node:net', 3)), 'a socket: answer');
  assert.equal(nameOf({ kind: 'file' }, frame('open', 'node:fs', 3)), 'file system: open');
  assert.equal(nameOf({ kind: 'file' }), 'file system');
});

test('drivers, pools, locks and other packages are told by the code that waits', () => {
  const within = (name) => frame('wait', `${MODULES}/${name}/index.js`, 7);
  const answer = { target: '127.0.0.1:5432', phase: 'answer' };
  const postgres = 'PostgreSQL 127.0.0.1:5432 (pg): answer';
  assert.equal(nameOf({ kind: 'socket', ...answer }, within('pg')), postgres);
  assert.equal(nameOf({ kind: 'promise', ...answer }, within('pg')), postgres);
  const connection = { ...answer, phase: 'connection' };
  const pool = 'pool of pg: a connection';
  assert.equal(nameOf({ kind: 'promise', ...connection }, within('pg-pool')), pool);
  assert.equal(nameOf({ kind: 'promise' }, within('async-mutex')), 'lock (async-mutex)');
  assert.equal(nameOf({ kind: 'promise' }, within('p-limit')), 'limiter (p-limit)');
  assert.equal(nameOf({ kind: 'promise' }), 'promise');
  assert.equal(nameOf({ kind: 'socket', ...answer }), '127.0.0.1:5432: answer');
  const queued = { kind: 'http', target: 'http://there:80', phase: 'connection' };
  assert.deepEqual(queueOf(queued), { kind: 'pool', name: 'http://there:80' });
  const leased = queueOf({ kind: 'promise', ...connection }, within('pg-pool'));
  assert.deepEqual(leased, { kind: 'pool', name: 'pool of pg' });
  assert.equal(queueOf({ kind: 'promise', ...answer }, within('pg')), null);
  const locked = queueOf({ kind: 'promise' }, within('async-mutex'));
  assert.deepEqual(locked, { kind: 'lock', name: 'lock (async-mutex)' });
  assert.equal(queueOf({ kind: 'promise' }), null);
  // Bytes for another request may have released a lock.
  assert.equal(nameOf({ kind: 'promise', ...answer }, within('async-mutex')), 'lock (async-mutex)');
});

test("code begins with the service's own outermost function, without Node.js's own", () => {
  const { frames } = path(
    { kind: 'promise' },
    ...[frame('acquire', `${MODULES}/async-mutex/index.js`, 3), NODE],
    ...[frame('takeLock', 'file:///srv/store.js', 12), HANDLER, EXPRESS, NODE],
  );
  assert.deepEqual(
    frames.map(({ name, place, origin }) => [name, place, origin]),
    [
      ['handler', '/srv/app.js:10', 'application'],
      ['takeLock', '/srv/store.js:12', 'application'],
      ['acquire', `${MODULES}/async-mutex/index.js:3`, 'dependency'],
    ],
  );
  assert.deepEqual(path({ kind: 'timer' }, NODE).frames, []);
});

/**
 * Waits at a line each.
 * @returns {import('#internal/explain/waits/wait-paths.js').WaitPath[]}
 */
function waits(...some) {
  return some.map(([route, waitsFor, ms]) => ({
    ...{ source: { kind: 'promise', target: '', phase: '' }, waitsFor, queue: null, route, ms },
    frames: [{ name: waitsFor, place: 'app.js:1', origin: 'application' }],
  }));
}

/** @type {import('#internal/explain/result.js').ExplainStage[]} */
const POPULATION = [
  { stage: 'on-core', label: 'on a core', requests: 1 },
  { stage: 'dependency', label: 'waiting for http://there', requests: 4 },
  { stage: 'handler', label: 'waiting in handlers', requests: 5 },
];
const TIMES = { handlerP50Ms: 0, handlerP99Ms: 0, syncMs: 0, syncMaxMs: 0, syncShare: 0 };
const route = (name, rate, handlerMs) => ({ route: name, rate, handlerMs, ...TIMES });

/** Weights of the outermost frames. */
function sumOutermost({ frames, frameOf, parents, self }) {
  const rootOf = (node) => (parents[node] < 0 ? node : rootOf(parents[node]));
  const sums = {};
  self.forEach((weight, node) => {
    const { name } = frames[frameOf[rootOf(node)]];
    sums[name] = (sums[name] ?? 0) + weight;
  });
  return sums;
}

test('the graph sums to the population; each route has its part', () => {
  assert.equal(countInHandlers(POPULATION), 9);
  const paths = waits(['GET /a', 'lock', 30], ['GET /a', 'timer', 10], ['GET /b', 'call', 1000]);
  const routes = [route('GET /a', 100, 40), route('GET /b', 10, 100)];
  const { graph, attributed, heaviest } = buildWaits({ paths, cost: null }, POPULATION, routes);
  assert.ok(Math.abs(sumWeights(graph) - 10) < 1e-9);
  const outermost = sumOutermost(graph);
  // Of nine requests in handlers 4 : 1 are of the two routes.
  const expected = { lock: 5.4, timer: 1.8, call: 1.8, 'on a core': 1 };
  assert.deepEqual(Object.keys(outermost).sort(), Object.keys(expected).sort());
  for (const [name, weight] of Object.entries(expected))
    assert.ok(Math.abs(outermost[name] - weight) < 1e-9, name);
  assert.ok(Math.abs(attributed - 1) < 1e-9);
  assert.equal(heaviest[0].waitsFor, 'lock');
  assert.ok(Math.abs(heaviest[0].share - 0.54) < 1e-9);
});

test('requests of a route that was not observed are not attributed', () => {
  const paths = waits(['GET /a', 'lock', 1]);
  const routes = [route('GET /a', 10, 10), route('GET /b', 10, 20)];
  const { graph, attributed } = buildWaits({ paths, cost: null }, POPULATION, routes);
  const outermost = sumOutermost(graph);
  assert.ok(Math.abs(outermost['not attributed'] - 6) < 1e-9);
  assert.ok(Math.abs(attributed - 1 / 3) < 1e-9);
});

test('a route of which no request ends has the part that it has in the sample', () => {
  const paths = waits(['GET /a', 'lock', 10], ['GET /stuck', 'pool', 90]);
  const { graph } = buildWaits({ paths, cost: null }, POPULATION, [route('GET /a', 100, 40)]);
  const outermost = sumOutermost(graph);
  assert.ok(Math.abs(outermost.pool - 8.1) < 1e-9);
  assert.ok(Math.abs(outermost.lock - 0.9) < 1e-9);
});

test('without waits in handlers, or without any that were observed, there is no graph', () => {
  const population = POPULATION.slice(0, 1);
  assert.equal(
    buildWaits({ paths: waits(['GET /a', 'lock', 1]), cost: null }, population, []),
    null,
  );
  assert.equal(buildWaits({ paths: [], cost: null }, POPULATION, []), null);
});
