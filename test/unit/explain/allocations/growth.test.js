// Which objects a heap grew by, what retains them, and which function allocated them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  AllocatingFunctions,
  scaleSize,
} from '#internal/explain/allocations/allocating-function.js';
import { compareHeaps, summarizeHeap } from '#internal/explain/allocations/growth.js';
import {
  describeService,
  readWhole,
  writeSnapshot,
} from '../../../fixtures/explain/heap-snapshots.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-growth-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'store.js');
writeFileSync(file, "// Sessions.\nimport { a } from 'b';\nlet x, sessions = new Map();\n");

const read = (described) => readWhole(writeSnapshot(described));

/** Compares a service with 3 sessions with one that has 103; `change` changes the nodes of the second. */
async function compare({ change = (nodes) => nodes, allocated = null, name = file } = {}) {
  const before = summarizeHeap(await read(describeService(name, 3)));
  const after = await read(change(describeService(name, 103)));
  return compareHeaps(before, after, allocated, 50);
}

describe('the growth of a heap', () => {
  test('is that of its classes per request, largest first', async () => {
    const growth = await compare();
    assert.deepEqual(
      growth.map(({ name, objectsPerRequest, bytesPerRequest }) => [
        name,
        objectsPerRequest,
        bytesPerRequest,
      ]),
      [
        ['Session', 2, 128],
        ['(array)', 0, 32],
      ],
    );
  });

  test('is retained by a variable, with the line that declares it', async () => {
    for (const name of [file, pathToFileURL(file).href]) {
      const [{ retainedBy, allocatedAt }] = await compare({ name });
      assert.deepEqual(retainedBy, ['Map.table', `sessions in ${file}:3`]);
      assert.equal(allocatedAt, null);
    }
  });

  test('is retained by a variable whose source cannot be read', async () => {
    const [{ retainedBy }] = await compare({ name: '/nowhere/store.js' });
    assert.deepEqual(retainedBy, ['Map.table', 'sessions in /nowhere/store.js']);
  });

  test('is retained by a property of the global object', async () => {
    const [{ retainedBy }] = await compare({
      change(nodes) {
        nodes.context.edges.pop();
        nodes.process.edges = [['property', 'cache', 'map']];
        return nodes;
      },
    });
    assert.deepEqual(retainedBy, ['Map.table', 'process.cache', 'global.process']);
  });

  test('is retained by the exports of a module, and by a root of V8', async () => {
    const [ofModule] = await compare({
      change(nodes) {
        nodes.context.edges.pop();
        nodes.roots.edges.push(['element', 2, 'cache']);
        nodes.cache = { name: 'Object', id: 25, edges: [['property', 'x', 'module']] };
        nodes.module = {
          name: 'Module',
          id: 27,
          edges: [
            ['property', 'filename', 'file'],
            ['property', 'exports', 'map'],
          ],
        };
        return nodes;
      },
    });
    assert.deepEqual(ofModule.retainedBy, ['Map.table', 'Module.exports', `exports of ${file}`]);
    const [ofRoot] = await compare({
      change(nodes) {
        nodes.context.edges.pop();
        nodes.roots.edges.push(['element', 2, 'map']);
        return nodes;
      },
    });
    assert.deepEqual(ofRoot.retainedBy, ['Map.table', '(GC roots)']);
  });

  test('is unknown where only weak references lead there', async () => {
    const [{ retainedBy }] = await compare({
      change(nodes) {
        nodes.context.edges[1][0] = 'weak';
        return nodes;
      },
    });
    assert.deepEqual(retainedBy, []);
  });

  test('is none if a heap stays as it is', async () => {
    const heap = await read(describeService(file, 3));
    assert.deepEqual(compareHeaps(summarizeHeap(heap), heap, null, 50), []);
  });

  test('was allocated by the function of the service that called a package', async () => {
    const frame = (functionName, url, lineNumber) => ({
      ...{ functionName, url, lineNumber, columnNumber: 0 },
    });
    const interval = 2048;
    const sample = (node, objectSize, samples) => ({
      ...{ node, size: scaleSize(objectSize, interval), samples },
    });
    const objects = [sample(3, 64, 8), sample(4, 64, 2), sample(4, 4000, 30)];
    const allocated = {
      interval,
      objects,
      tree: {
        frames: [
          frame('(root)', '', 0),
          frame('emit', 'node:events', 500),
          frame('answer', pathToFileURL('/srv/app.js').href, 6),
          frame('add', '/srv/node_modules/cache/index.js', 2),
          frame('other', '/srv/app.js', 20),
        ],
        parents: [-1, 0, 1, 2, 1, 2],
        frameOf: [0, 1, 2, 3, 4, 4],
        bytes: [0, 0, 0, 9000, 90_000, 0],
      },
    };
    const [session, table] = await compare({ allocated });
    assert.deepEqual(session.allocatedAt, {
      ...{ name: 'answer', place: '/srv/app.js:7', origin: 'application' },
    });
    // Nothing of the size of the table was sampled.
    assert.equal(table.allocatedAt, null);
    // Of two functions with half of the samples each, the one that calls both.
    const halves = { ...allocated, objects: [sample(3, 64, 5), sample(5, 64, 5)] };
    const [divided] = await compare({ allocated: halves });
    assert.equal(divided.allocatedAt.name, 'answer');
    const apart = { ...allocated, objects: [sample(3, 64, 5), sample(4, 64, 5)] };
    const [unknown] = await compare({ allocated: apart });
    assert.equal(unknown.allocatedAt, null);
  });
});

test('optimized code allocates an array and its elements at once, which is one sample', () => {
  const interval = 2048;
  const frame = (functionName, url, lineNumber) => ({
    ...{ functionName, url, lineNumber, columnNumber: 0 },
  });
  const functions = new AllocatingFunctions({
    interval,
    // 1024 bytes, of which one sample stands for three objects: 5200 of them. Of the others there are too few, or too many.
    objects: [
      { node: 1, size: scaleSize(1024, interval), samples: 1733 },
      { node: 2, size: scaleSize(1000, interval), samples: 10 },
      { node: 2, size: scaleSize(2000, interval), samples: 9000 },
    ],
    tree: {
      frames: [
        frame('(root)', '', 0),
        frame('record', '/srv/a.js', 9),
        frame('other', '/srv/a.js', 1),
      ],
      ...{ parents: [-1, 0, 0], frameOf: [0, 1, 2], bytes: [0, 0, 0] },
    },
  });
  assert.equal(functions.find(992, 5000)?.name, 'record');
  assert.equal(functions.find(32, 5000)?.name, 'record');
  assert.equal(functions.find(992, 60_000), null);
  assert.equal(functions.find(1200, 5000), null);
});

test("a sample stands for as many bytes as V8's estimate", () => {
  // As Node.js 20 and 26 report them.
  assert.deepEqual(
    [32, 56, 64, 40].map((size) => scaleSize(size, 4096)),
    [4128, 4144, 4160, 4120],
  );
});
