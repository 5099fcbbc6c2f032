// The probe in a process whose V8 is used by others: its profilers, its coverage, its flags.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { request, requestJson, served } from '../../fixtures/explain/probed.js';

const service = fileURLToPath(new URL('../../fixtures/probe/self-observing.mjs', import.meta.url));

describe('a service that uses V8 by itself', { concurrency: 2 }, () => {
  test('keeps the sampler of its heap, and allocations are not sampled', async () => {
    await served({ service, env: { SAMPLES_HEAP: '1' } }, async ({ hub, port, child, drive }) => {
      await drive('/', { connections: 1, requests: 2 });
      const { pid } = child;
      await assert.rejects(
        hub.command('allocations', { ms: 100 }),
        /the service samples its heap by itself/,
      );
      await hub.command('liveAllocations', { pid, on: true });
      assert.deepEqual(await hub.command('liveAllocations', { pid, on: false }), [null]);
      assert.deepEqual(await requestJson(port, '/sampled'), { hasProfile: true });
    });
  });

  test('keeps its coverage', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
    try {
      await served(
        { service, env: { NODE_V8_COVERAGE: folder } },
        async ({ hub, child, drive }) => {
          await drive('/', { connections: 1, requests: 10 });
          await hub.command('inlining', { on: false });
          await hub.command('profile', { ms: 50 });
          await hub.command('inlining', { on: true });
          await drive('/', { connections: 1, requests: 10 });
          const exited = once(child, 'exit');
          child.send('exit');
          await exited;
        },
      );
      assert.deepEqual(readCounts(folder, 'answer'), [20, 0]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('is not ended where the flags of V8 are frozen', async () => {
    const args = ['--freeze-flags-after-init'];
    await served({ service, args }, async ({ hub, port, drive }) => {
      await drive('/', { connections: 1, requests: 2 });
      assert.deepEqual(await hub.command('inlining', { on: false }), [null]);
      await assert.rejects(hub.command('collect', {}), /no garbage collection on demand/);
      assert.equal(await request(port, '/'), 200);
    });
  });
});

/** The counts of a function and its blocks by the coverage of a process. */
function readCounts(folder, name) {
  const reports = readdirSync(folder).map((file) =>
    JSON.parse(readFileSync(join(folder, file), 'utf8')),
  );
  const functions = reports.flatMap(({ result }) =>
    result.filter(({ url }) => url.endsWith('/self-observing.mjs')).flatMap((it) => it.functions),
  );
  const { ranges } = functions.find(({ functionName }) => functionName === name);
  return ranges.map(({ count }) => count);
}
