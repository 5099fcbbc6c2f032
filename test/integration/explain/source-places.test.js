// The places of code that a loader has transformed in memory: those of its file.
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compareHeaps as findGrowth, summarizeHeap } from '#internal/explain/allocations/growth.js';
import { readHeapSnapshot } from '#internal/explain/allocations/heap-snapshot/heap-snapshot.js';
import { served } from '../../fixtures/explain/probed.js';

const service = fileURLToPath(new URL('../../fixtures/probe/transformed.cjs', import.meta.url));
const SOURCE = readFileSync(
  new URL('../../fixtures/probe/transformed.ts', import.meta.url),
  'utf8',
);

/** The line of the file that begins with a text; lines count from 1. */
function lineOf(text) {
  const index = SOURCE.split('\n').findIndex((line) => line.trimStart().startsWith(text));
  assert.ok(index >= 0, text);
  return index + 1;
}

const isOfSource = (file) => file?.endsWith('/transformed.ts') ?? false;

/** The line of a function by frames as V8 has them. */
function findLine(frames, name) {
  const found = frames.find((frame) => frame.functionName === name && isOfSource(frame.url));
  assert.ok(found, `${name} in ${JSON.stringify(frames.filter(({ url }) => isOfSource(url)))}`);
  return found.lineNumber + 1;
}

/** Keeps requests coming while something is observed. */
async function whileDriven(drive, observing) {
  let isOn = true;
  const observed = observing.finally(() => {
    isOn = false;
  });
  while (isOn) await drive('/', { connections: 4, requests: 20 });
  return observed;
}

/** What grows in the heap of a process during a load. */
async function compareHeaps(hub, pid, load) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-heaps-'));
  const takeSnapshot = async (file) => {
    await hub.command('heapSnapshot', { pid, file, ms: 10_000 });
    const snapshot = await readHeapSnapshot(createReadStream(file), { edges: true });
    return /** @type {import('#internal/explain/allocations/heap-snapshot/heap-snapshot.js').HeapSnapshot} */ (
      snapshot
    );
  };
  try {
    const before = summarizeHeap(await takeSnapshot(join(folder, 'before')));
    await hub.command('liveAllocations', { pid, on: true });
    await load();
    const [allocated] = await hub.command('liveAllocations', { pid, on: false });
    return findGrowth(before, await takeSnapshot(join(folder, 'after')), allocated, 50);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('places of transformed code', { concurrency: 1 }, () => {
  for (const keeper of ['Node.js', 'V8 alone']) {
    test(`by a source map that ${keeper} keeps`, async () => {
      const env = keeper === 'Node.js' ? { KEEPS_MAPS: '1' } : {};
      await served({ service, env }, async ({ hub, child, drive }) => {
        await drive('/', { connections: 1, requests: 2 });
        const observe = async (name, how) => (await whileDriven(drive, hub.command(name, how)))[0];

        const { profile } = await observe('profile', { ms: 500 });
        const called = profile.nodes.map(({ callFrame }) => callFrame);
        assert.equal(findLine(called, 'compute'), lineOf('function compute'));

        const { frames } = await observe('waits', { ms: 500, depth: 16 });
        const waiting = frames.find(({ name, file }) => name === 'wait' && isOfSource(file));
        assert.equal(waiting?.line, lineOf('await sleep(20)'), JSON.stringify(frames));

        const { tree } = await observe('allocations', { ms: 500 });
        assert.equal(findLine(tree.frames, 'keep'), lineOf('function keep'));

        const [grown] = await compareHeaps(hub, child.pid, () =>
          drive('/', { connections: 4, requests: 50 }),
        );
        assert.match(grown.allocatedAt?.place, new RegExp(`:${lineOf('function keep')}$`));
        assert.match(grown.retainedBy.join(), /\bkept\b/);
      });
    });
  }
});
