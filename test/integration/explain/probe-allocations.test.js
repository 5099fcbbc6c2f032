// What requests allocate and what stays in memory: in services of which it is known, line by line.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, describe, test } from 'node:test';
import { openProbeHub } from '#internal/explain/observe/probe/hub.js';
import { sampleAllocations } from '#internal/explain/phases/heap/allocations.js';
import { compareNewHeaps } from '#internal/explain/phases/heap/heap-comparison.js';
import { buildProcessCpu, profileLoad } from '#internal/explain/profile/capture.js';
import { ServerUnderTest } from '#internal/explain/target/server-under-test.js';
import { withoutInlining } from '#internal/explain/target/without-inlining.js';
import { retried } from '../../fixtures/retry.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-allocations-')));
after(() => rmSync(folder, { recursive: true }));

/** Writes a file of a service, and returns its path as reports have it. */
function write(name, code) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, code);
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** Passes a started service under 8 connections to `use`. */
async function started(file, use) {
  const hub = await openProbeHub();
  const { signal } = new AbortController();
  /** @type {import('#internal/process/listening/trial-request.js').TrialRequest} */
  const trial = { method: 'GET', target: '/' };
  const command = [process.execPath, join(folder, file)];
  const subject = new ServerUnderTest({ connections: 8 }, { command }, hub, signal, [], trial);
  try {
    await subject.start();
    await subject.runBlock({ settleMs: 0, measureMs: 500 });
    return await use(subject);
  } finally {
    await subject.close();
    await hub.close();
  }
}

/** The weight of the frames themselves for which `matches` holds, in the unit of the graph. */
function weigh({ self, frames, frameOf }, matches) {
  return self.reduce((sum, weight, node) => sum + (matches(frames[frameOf[node]]) ? weight : 0), 0);
}

function near(value, expected, share) {
  const text = `${Math.round(value)}, not ${expected} ± ${100 * share} %`;
  assert.ok(Math.abs(value - expected) <= share * expected, text);
}

const noProcfs = process.platform !== 'linux' && 'needs /proc';

describe('allocations', { skip: noProcfs, timeout: 120_000, concurrency: 2 }, () => {
  // 122 elements of 8 bytes, 16 before them, and 32 of the array itself.
  const line = 'seed++; return new Array(122).fill(seed);';
  const service = write(
    'garbage.cjs',
    `const { createServer } = require('node:http');
let seed = 0;
createServer(answer).listen(0, '127.0.0.1');
function answer(request, response) {
  for (let block = 0; block < 8; block++) globalThis.last = allocateOneKiB();
  globalThis.outside = Buffer.alloc(20_000);
  response.end('x');
}
function allocateOneKiB() { ${line} }
`,
  );

  test('bytes per request by the function that allocates them, to 10 %', async () => {
    await retried(
      () =>
        started('garbage.cjs', (subject) =>
          withoutInlining(subject, () => sampleAllocations(subject)),
        ),
      ({ graph, heaviest, growth, pausedMs }) => {
        assert.equal(graph.unit, 'bytes');
        // Not its caller, into which V8 inlines it otherwise.
        const isOwn = ({ place }) => place === `${service}:9`;
        near(weigh(graph, isOwn), 8 * 1024, 0.1);
        assert.ok(heaviest[0].share > 0.2 && isOwn(heaviest[0].frames.at(-1)));
        const node = weigh(graph, ({ origin }) => origin === 'node');
        assert.ok(node > 1000, `${node}`);
        // What is freed between two readings is not counted.
        const outside = weigh(graph, ({ origin }) => origin === 'none');
        assert.ok(outside > 2000 && outside < 23_000, `${outside}`);
        assert.deepEqual([growth, pausedMs], [null, null]);
      },
    );
  });

  write(
    'rows.cjs',
    `const { createServer } = require('node:http');
createServer((request, response) => response.end(String(sum(4000) + divide(6000)))).listen(0, '127.0.0.1');
function sum(rows) { let all = 0; for (let row = 0; row < rows; row++) all += Math.sqrt(row) % 7; return all; }
function divide(rows) { let all = 0; for (let row = 0; row < rows; row++) all += Math.sqrt(row) % 5; return all; }
`,
  );

  test('CPU time by the function that takes it, also one that is inlined otherwise', async () => {
    await retried(
      () => started('rows.cjs', (subject) => withoutInlining(subject, () => profileLoad(subject))),
      (profile) => {
        const { graph } = buildProcessCpu(profile);
        const [summed, divided] = ['sum', 'divide'].map((own) =>
          weigh(graph, ({ name }) => name === own),
        );
        near(divided / summed, 1.5, 0.15);
      },
    );
  });

  const [app, store, cache] = [
    write(
      'leak.cjs',
      `const { createServer } = require('node:http');
const { EventEmitter } = require('node:events');
const { remember } = require('./store.cjs');
const cache = require('list-cache');
const bus = new EventEmitter();
bus.setMaxListeners(0);
let count = 0;
createServer((request, response) => {
  count++;
  remember('key ' + count);
  follow();
  fill();
  response.end('x');
}).listen(0, '127.0.0.1');
function follow() {
  const text = 'request ' + count;
  bus.on('change', function onChange() { return text; });
}
function fill() {
  for (let entry = 0; entry < 10; entry++) cache.add(count);
}
`,
    ),
    write(
      'store.cjs',
      `class Session { constructor(key) { this.key = key; this.a = this.b = this.c = this.d = this.e = null; } }
const sessions = new Map();
exports.remember = function remember(key) {
  sessions.set(key, new Session(key));
};
`,
    ),
    write(
      'node_modules/list-cache/index.js',
      `const entries = [];
class Entry { constructor(value) { this.value = value; this.next = null; this.at = 1; } }
exports.add = (value) => { entries.push(new Entry(value)); };
`,
    ),
  ];

  test('classes that grow, what retains them, and the function of the service that made them', async () => {
    const { growth, pausedMs } = await started('leak.cjs', (subject) =>
      compareNewHeaps(subject, { bytesPerSecond: 8e6, fits: () => true }),
    );
    assert.ok(pausedMs > 0);
    const find = (name) => {
      const found = growth.find((one) => one.name === name);
      assert.ok(found, `no ${name} in ${JSON.stringify(growth, null, 1)}`);
      return found;
    };
    const session = find('Session');
    near(session.objectsPerRequest, 1, 0.05);
    near(session.bytesPerRequest, 72, 0.1);
    assert.deepEqual(session.retainedBy, ['Map.table', `sessions in ${store}:2`]);
    const { name, place, origin } = session.allocatedAt;
    assert.deepEqual([name, place, origin], ['remember', `${store}:3`, 'application']);
    const listener = find('function onChange');
    near(listener.objectsPerRequest, 1, 0.05);
    const events = ['Array[]', 'Object.change', 'EventEmitter._events', `bus in ${app}:5`];
    assert.deepEqual(listener.retainedBy, events);
    assert.deepEqual(
      [listener.allocatedAt.name, listener.allocatedAt.place],
      ['follow', `${app}:15`],
    );
    const entry = find('Entry');
    near(entry.objectsPerRequest, 10, 0.05);
    assert.deepEqual(entry.retainedBy, ['Array[]', `entries in ${cache}:1`]);
    // The service's function, not that of the package.
    assert.deepEqual([entry.allocatedAt.name, entry.allocatedAt.place], ['fill', `${app}:19`]);
    const left = readdirSync(tmpdir()).filter((name) => name.startsWith('millrace-heap-'));
    assert.deepEqual(left, []);
  });
});
