// When heap snapshots are taken and read, and what is said where that is not possible; on a simulated server.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { compareNewHeaps } from '#internal/explain/phases/heap/heap-comparison.js';
import { describeService, writeSnapshot } from '../../../fixtures/explain/heap-snapshots.js';

/**
 * A server whose heap grows by 100 sessions in 50 requests; `take` writes its snapshots.
 * @param {{ heapBytes?: number, serving?: boolean, take?: (file: string, text: string) => void }} how
 * @returns {any}
 */
function createSubject({ heapBytes = 10e6, serving = true, take = writeFileSync } = {}) {
  const done = [];
  const files = [];
  let isSampling = false;
  const subject = {
    done,
    files,
    signal: new AbortController().signal,
    endReason: null,
    async restart() {
      done.push('restart');
    },
    async runBlock({ measureMs }) {
      done.push(`load ${measureMs}`);
    },
    hub: {
      processes: [{ pid: 7, serving }],
      async command(name, { pid, file, on }) {
        if (name === 'collect') return [heapBytes, 1e6];
        if (name === 'inlining') {
          done.push(`inlining ${on}`);
          return [null];
        }
        done.push(name);
        assert.equal(pid, 7);
        if (name === 'liveAllocations') {
          isSampling = on;
          return [null, null];
        }
        files.push(file);
        take(file, writeSnapshot(describeService('/srv/store.js', files.length === 1 ? 3 : 103)));
        assert.equal(isSampling, false);
        return [null, { requests: 50 * files.length, pausedMs: 40 }];
      },
    },
  };
  return subject;
}

const options = { bytesPerSecond: 1e9, fits: () => true };

describe('heap snapshots', () => {
  test('are taken before and after some load, and removed', async () => {
    const subject = createSubject();
    const compared = await compareNewHeaps(subject, options);
    if (typeof compared === 'string') assert.fail(compared);
    const { growth, pausedMs } = compared;
    assert.equal(pausedMs, 80);
    const [{ name, objectsPerRequest, retainedBy }] = growth;
    assert.deepEqual([name, objectsPerRequest], ['Session', 2]);
    assert.deepEqual(retainedBy, ['Map.table', 'sessions in /srv/store.js']);
    assert.deepEqual(subject.done, [
      ...['restart', 'load 150', 'inlining false', 'heapSnapshot', 'liveAllocations'],
      ...['load 150', 'liveAllocations', 'heapSnapshot'],
    ]);
    assert.ok(!existsSync(dirname(subject.files[0])));
  });

  test('are taken after a longer load where the heap grows slowly', async () => {
    const subject = createSubject();
    await compareNewHeaps(subject, { ...options, bytesPerSecond: 8e6 });
    const lengths = subject.done.filter((what) => what.startsWith('load'));
    assert.deepEqual(lengths, ['load 1000', 'load 2000']);
  });

  /** @type {[string, Parameters<typeof createSubject>[0], RegExp][]} */
  const obstacles = [
    [
      'of a large heap',
      { heapBytes: 300e6 },
      /^a new server has a heap of 300 MB; .* at most 96\.0 MB$/,
    ],
    ['without a probe', { serving: false }, /^no process of the new server has the probe$/],
    ['that cannot be written', { take: fail }, /EROFS/],
    [
      'that are written elsewhere',
      { take: () => {} },
      /^the heap snapshot was written to another file system/,
    ],
    ['that are damaged', { take: (file) => writeFileSync(file, '{"snapshot"') }, /not complete/],
  ];
  for (const [what, how, reason] of obstacles) {
    test(`${what} are none, with the reason`, async () => {
      const subject = createSubject(how);
      assert.match(String(await compareNewHeaps(subject, options)), reason);
      for (const file of subject.files) assert.ok(!existsSync(dirname(file)));
    });
  }

  test('are not continued if the first one took too long', async () => {
    const subject = createSubject();
    const found = await compareNewHeaps(subject, { ...options, fits: () => false });
    assert.match(
      String(found),
      /^the first snapshot took 40.*ms, and no time is left for the second/,
    );
  });

  test('pass on that the server has ended', async () => {
    const subject = createSubject({ take: fail });
    subject.endReason = 'exited with 1';
    await assert.rejects(compareNewHeaps(subject, options), /EROFS/);
  });
});

function fail() {
  throw new Error('EROFS: read-only file system');
}
