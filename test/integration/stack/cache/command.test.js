// `millrace cache`: the output caches of running processes, seen from outside.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { controlDirectory } from '../../../../dist/http/control-protocol.js';
import { get, limits, serve } from '../../../fixtures/stack/caching.js';

describe('millrace cache', () => {
  const millrace = new URL('../../../../bin/millrace.js', import.meta.url).pathname;

  async function cli(...args) {
    const child = spawn(process.execPath, [millrace, 'cache', ...args]);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { stdout, stderr, code };
  }

  test(
    'looks at the caches of running processes, and removes what they hold',
    limits,
    async (t) => {
      const { server } = await serve(t, { duration: 60 });
      for (const path of ['/a', '/a', '/b?c', '/d']) await get(server, path);
      const pid = String(process.pid);
      const all = await cli(pid);
      assert.equal(all.code, 0, all.stderr);
      assert.match(
        all.stdout,
        new RegExp(`^${pid}  127\\.0\\.0\\.1:${server.address().port}\n  1 hit `),
      );
      assert.match(all.stdout, / 3 misses\n {2}3 entries/);
      const entries = await cli(pid, '--entries');
      assert.match(entries.stdout, /http:\/\/a\/a {2}200, 1 B, 1 hit, fresh for/);
      assert.match((await cli(pid, '--delete', '/b?c')).stdout, / 1 removed/);
      assert.match((await cli(pid, '--delete-prefix', '/a')).stdout, / 1 removed/);
      const [{ servers }] = JSON.parse((await cli(pid, '--clear', '--json')).stdout);
      assert.equal(servers[0].removed, 1);
      assert.equal(server.cache.stats().entries, 0);
    },
  );

  test('the directory of shared ports beside the sockets is none of them', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 });
    await get(server, '/');
    const ports = join(controlDirectory(), 'ports');
    const isNew = mkdirSync(ports, { recursive: true }) !== undefined;
    t.after(() => isNew && rmSync(ports, { recursive: true }));
    const { code, stdout, stderr } = await cli();
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^${process.pid}  `, 'm'));
  });

  test('what it does not accept is one line', limits, async () => {
    for (const [args, code, message] of [
      [['1'], 3, /no process 1 /],
      [['x'], 2, /'x' given/],
      [['--delete', 'a'], 2, /accepted: a path/],
      [['--clear', '--entries'], 2, /one of/],
    ]) {
      const run = await cli(...args);
      assert.equal(run.code, code, run.stderr);
      assert.match(run.stderr, message);
      assert.equal(run.stderr.trim().split('\n').length, 1);
    }
  });
});
