import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as application from '../../../bench/apps/application.js';
import { isOnPath } from '../../../bench/clients/tools.js';
import { findRuntimes } from '../../../bench/stack/runtimes.js';

const bench = {
  name: 'hello',
  load: { app: 'hello', connections: 4, seconds: 0.2 },
  tools: ['node', 'millrace'],
  baseline: 'node',
  bars: [{ than: 'node', metric: 'residentKb', atMost: 100 }],
};

const missing = ['taskset', 'time'].filter((name) => isOnPath(name) === null);
const skip = missing.length > 0 && `${missing.join(' and ')} missing`;

test('an application is measured plain and on the stack', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const context = {
    ...{ rounds: 1, attempts: 1, quick: true, directory, progress: () => {} },
    found: findRuntimes({}),
    // Any core: the test runs beside others.
    cores: { server: '0-1', client: '0-1' },
  };
  const { runs, failures } = await application.run(bench, context);
  assert.deepEqual(failures, {});
  assert.deepEqual(
    runs.map(({ row }) => row),
    ['node', 'millrace', 'millrace', 'node'],
  );
  for (const { row, requests, cpuUsPerRequest, residentKb, served } of runs) {
    assert.ok(requests > 0 && cpuUsPerRequest > 0, `${row}: ${cpuUsPerRequest} µs`);
    assert.ok(residentKb > 10_000, `${row}: ${residentKb} kB`);
    if (row === 'node') assert.equal(served, null);
    else assert.ok(served.native > requests && served.fallback === 0);
  }
  const lines = application.summarize(bench, { runs, failures });
  assert.match(
    lines.join('\n'),
    /\| millrace \|.*\n\n- bar: memory of millrace ≤ 100 × node: .*met/,
  );
  const { cpuUs, savedUs } = application.describe(bench, { runs });
  assert.match(cpuUs, /^[\d.]+ → [\d.]+$/);
  assert.ok(Number.isFinite(savedUs));
});
