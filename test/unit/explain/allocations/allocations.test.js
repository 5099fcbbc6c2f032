// Allocated bytes per request, by call, and the words for them in the remedy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildAllocations } from '#internal/explain/allocations/allocations.js';
import { nameObjects } from '#internal/explain/conclusion/objects.js';
import { FIND_ADDED } from '#internal/explain/limits/cpu/degrades-over-time.js';
import { FIND_LEAK } from '#internal/explain/limits/cpu/memory-growth.js';

const frame = (functionName, url, lineNumber) => ({
  ...{ functionName, url, lineNumber, columnNumber: 0 },
});

const PROFILE = {
  pid: 1,
  requests: 10,
  outsideBytes: 500,
  tree: {
    frames: [
      frame('(root)', '', -1),
      frame('parserOnIncoming', 'node:_http_server', 900),
      frame('answer', 'file:///srv/app.js', 6),
      frame('repeat', '', -1),
      frame('parse', '/srv/node_modules/body/index.js', 2),
      frame('sample', '/opt/millrace/dist/probe/observer.cjs', 2),
    ],
    parents: [-1, 0, 1, 2, 2, 0],
    frameOf: [0, 1, 2, 3, 4, 5],
    bytes: [0, 1000, 2000, 4000, 2000, 500],
  },
};

test('the graph has the bytes per request of the process that answered most', () => {
  const { graph, heaviest, growth } = buildAllocations([{ ...PROFILE, requests: 1 }, PROFILE]);
  const bytes = graph.self.map((own, node) => [graph.frames[graph.frameOf[node]].origin, own]);
  assert.deepEqual(bytes, [
    ['node', 100],
    ['application', 200],
    ['native', 400],
    ['dependency', 200],
    ['millrace', 50],
    ['none', 50],
  ]);
  const [{ frames, weight, share }] = heaviest;
  assert.deepEqual([frames[0].place, weight, share], ['/srv/app.js:7', 800, 0.8]);
  assert.equal(growth, null);
});

test('there is no graph of a process that answered nothing', () => {
  assert.equal(buildAllocations([]), null);
  assert.equal(buildAllocations([{ ...PROFILE, requests: 0 }]), null);
});

test('the remedy names what allocates most', () => {
  const found = buildAllocations([PROFILE]);
  assert.equal(
    nameObjects('fewer objects', 'gc-young', found),
    'answer (/srv/app.js:7) and what it calls allocate 800 B of the 1.00 kB that a request allocates (80 %): fewer objects',
  );
  assert.equal(nameObjects('less', 'event-loop-cpu', found), 'less');
  // What is allocated most is not what later requests go through.
  const change = `${FIND_ADDED}; restart`;
  assert.equal(nameObjects(change, 'degrades-over-time', found), change);
  const grown = {
    ...{ name: 'Array', objectsPerRequest: 1, bytesPerRequest: 64 },
    ...{ retainedBy: ['listeners in bus.js:4'], allocatedAt: null },
  };
  assert.equal(
    nameObjects(change, 'degrades-over-time', { ...found, growth: [grown] }),
    '64 B per request of Array stay in listeners in bus.js:4: remove what is no longer needed; restart',
  );
  assert.equal(nameObjects('less', 'gc-old', null), 'less');
});

test('the remedy names what stays, and what keeps it', () => {
  /** @type {import('millrace').GrowingClass[]} */
  const growth = [
    {
      ...{ name: 'Session', objectsPerRequest: 1, bytesPerRequest: 72 },
      retainedBy: ['Map.table', 'sessions in store.js:2'],
      allocatedAt: { name: 'remember', place: 'store.js:5', origin: 'application' },
    },
  ];
  const found = buildAllocations([PROFILE]);
  found.growth = growth;
  assert.equal(
    nameObjects(`${FIND_LEAK}; or not`, 'memory-growth', found),
    '72 B per request of Session, allocated by remember (store.js:5), stay in Map.table <- sessions in store.js:2: remove what is no longer needed; or not',
  );
});
