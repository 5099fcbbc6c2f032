// Heap snapshots are read piece by piece, and damaged ones give an error.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareHeaps, summarizeHeap } from '#internal/explain/allocations/growth.js';
import { SnapshotError } from '#internal/explain/allocations/heap-snapshot/scanner.js';
import {
  describeService,
  readText,
  readWhole,
  writeSnapshot,
} from '../../../fixtures/explain/heap-snapshots.js';
import { Noise } from '../../../fixtures/noise.js';

const text = writeSnapshot(describeService('/srv/Größe/"store".js', 5));

describe('a heap snapshot', () => {
  test('is the same however it is split', async () => {
    const whole = await readWhole(text, { pieceLength: text.length * 2 });
    assert.equal(whole.nodeCount, 17);
    assert.equal(whole.strings.get(whole.nameOf[8]), '/srv/Größe/"store".js');
    for (const pieceLength of [1, 2, 3, 7, 100]) {
      const { strings, ...others } = await readWhole(text, { pieceLength });
      const { strings: expected, ...rest } = whole;
      assert.deepEqual(others, rest);
      for (let index = 0; index < 30; index++)
        assert.equal(strings.get(index), expected.get(index));
    }
  });

  test('is read without its references', async () => {
    const { nodeCount, targetOf } = await readWhole(text, { edges: false });
    assert.deepEqual([nodeCount, targetOf.length], [17, 0]);
  });

  /** @type {[string, string, RegExp][]} */
  const damages = [
    ['is empty', '', /not complete/],
    ['is no object', '[1]', /no heap snapshot/],
    ['ends early', text.slice(0, -40), /not complete/],
    ['has no header', '{"nodes":[1]}', /no header/],
    ['has a header of another kind', '{"snapshot":{"meta":{}}}', /header .* damaged/],
    ['is too large', text.replace('"node_count":17', '"node_count":99000000000'), /too large/],
    ['has fewer objects', text.replace('"node_count":17', '"node_count":18'), /not complete/],
    ['has more objects', text.replace('"node_count":17', '"node_count":16'), /more objects/],
    ['has another format', text.replace('"self_size"', '"size"'), /format .* unknown/],
    [
      'has references to nothing',
      text.replace('"edges":[1\n,1\n,6', '"edges":[1\n,1\n,600000'),
      /nowhere/,
    ],
    ['has negative numbers', text.replace('"nodes":[', '"nodes":[-'), /damaged/],
  ];
  for (const [what, damaged, message] of damages) {
    test(`that ${what} gives an error`, async () => {
      const error = await readText(damaged);
      assert.ok(error instanceof SnapshotError, what);
      assert.match(error.message, message);
    });
  }

  test('that cannot be read gives an error', async () => {
    const { readHeapSnapshot } = await import(
      '#internal/explain/allocations/heap-snapshot/heap-snapshot.js'
    );
    async function* read() {
      yield Buffer.from('{');
      throw new Error('EIO: i/o error');
    }
    const error = await readHeapSnapshot(read(), { edges: true });
    assert.ok(error instanceof SnapshotError);
    assert.match(error.message, /EIO/);
  });

  test('that is damaged anywhere gives an error or a result, and never throws', async () => {
    const before = summarizeHeap(await readWhole(text));
    const noise = new Noise(52);
    const below = (limit) => Math.floor(noise.uniform() * limit);
    let read = 0;
    for (let attempt = 0; attempt < 1500; attempt++) {
      const bytes = Buffer.from(text);
      const at = below(bytes.length);
      const to = Math.min(bytes.length, at + below(30));
      if (attempt % 3 === 0) bytes[at] = below(256);
      else if (attempt % 3 === 1) bytes.copy(bytes, below(bytes.length), at, to);
      const damaged =
        attempt % 3 === 2 ? Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]) : bytes;
      const snapshot = await readText(damaged, { pieceLength: 1 + below(200) });
      if (snapshot instanceof SnapshotError) continue;
      read++;
      compareHeaps({ ...before, lastId: 51 }, snapshot, null, 1);
    }
    assert.ok(read > 100 && read < 1400, `${read}`);
  });
});
