// `millrace cache`: the output caches of running processes, seen from outside.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import {
  controlDirectories,
  controlDirectory,
  meetingDirectory,
} from '#internal/http/cache/control-protocol.js';
import { ask, get, last, limits, serve } from '../../../fixtures/stack/cache/servers.js';

describe('the command millrace cache', () => {
  const millrace = new URL('../../../../bin/millrace.js', import.meta.url).pathname;

  function cli(...args) {
    return cliIn(process.env, ...args);
  }

  async function cliIn(env, ...args) {
    const child = spawn(process.execPath, [millrace, 'cache', ...args], { env });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { stdout, stderr, code };
  }

  test(
    'millrace cache lists the caches of running processes, and removes their entries',
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

  test('fields of the key are shown, and nothing that commands a terminal', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 });
    // U+009B begins a command, in UTF-8.
    const host = Buffer.from('evil\u009b31m').toString('latin1');
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.write(ask('/', [`X-Forwarded-Host: ${host}`, ...last]), 'latin1');
    await text(socket);
    const { stdout } = await cli(String(process.pid), '--entries');
    assert.match(stdout, /, x-forwarded-host:evil\?31m\n/);
  });

  test(
    'the directory of shared ports next to the sockets is not one of them',
    limits,
    async (t) => {
      const { server } = await serve(t, { duration: 60 });
      await get(server, '/');
      // It stays: others may use it by now.
      mkdirSync(join(controlDirectory(), 'ports'), { recursive: true, mode: 0o700 });
      const { code, stdout, stderr } = await cli();
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^${process.pid}  `, 'm'));
    },
  );

  test('millrace cache finds processes that listen in another environment', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 });
    await get(server, '/');
    const { XDG_RUNTIME_DIR, ...without } = process.env;
    for (const env of [without, { ...without, XDG_RUNTIME_DIR: folderFor(t) }]) {
      const { code, stdout, stderr } = await cliIn(env, String(process.pid));
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^${process.pid}  `));
    }
  });

  test('unsupported arguments are refused in one line', limits, async () => {
    for (const [args, code, message] of [
      [['1'], 3, /no process 1 /],
      [['x'], 2, /takes a process id \(got 'x'\)/],
      [['--delete', 'a'], 2, /must be a path such as /],
      [['--clear', '--entries'], 2, /one of/],
    ]) {
      const run = await cli(...args);
      assert.equal(run.code, code, run.stderr);
      assert.match(run.stderr, message);
      assert.equal(run.stderr.trim().split('\n').length, 1);
    }
  });
});

/** A folder for the time of a test. */
function folderFor(t) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-runtime-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('the directory of the sockets', () => {
  const uid = process.getuid();

  /** `XDG_RUNTIME_DIR` for the time of a test. */
  function runtime(t, folder) {
    const before = process.env.XDG_RUNTIME_DIR;
    process.env.XDG_RUNTIME_DIR = folder;
    t.after(() => {
      if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
      else process.env.XDG_RUNTIME_DIR = before;
    });
    return join(folder, `millrace-${uid}`);
  }

  test('the directory belongs to the user alone, and each process of the user finds it', (t) => {
    const path = runtime(t, folderFor(t));
    assert.equal(controlDirectory(), path);
    assert.equal(statSync(path).mode & 0o777, 0o700);
    assert.ok(controlDirectories().includes(path));
    assert.ok(
      controlDirectories().includes(meetingDirectory()),
      'those of other environments, too',
    );
  });

  for (const [what, plant] of [
    ['a link', (t, path) => symlinkSync(folderFor(t), path)],
    ['a file', (_t, path) => writeFileSync(path, '')],
    [
      'a folder that others may look into',
      (_t, path) => {
        mkdirSync(path);
        chmodSync(path, 0o750);
      },
    ],
    ...(uid === 0
      ? [
          [
            "another user's folder",
            (_t, path) => {
              mkdirSync(path, { mode: 0o700 });
              chownSync(path, 12345, 12345);
            },
          ],
        ]
      : []),
  ]) {
    test(`a directory that another user may have put there is not used: ${what}`, (t) => {
      const path = runtime(t, folderFor(t));
      plant(t, path);
      assert.notEqual(controlDirectory(), null);
      for (const found of [controlDirectory(), meetingDirectory(), ...controlDirectories()]) {
        assert.notEqual(found, path);
      }
    });
  }

  test('the directory is not in a folder that does not exist or belongs to another user', {
    skip: uid !== 0,
  }, (t) => {
    const folder = folderFor(t);
    const path = runtime(t, folder);
    chownSync(folder, 12345, 12345);
    assert.notEqual(controlDirectory(), path);
    runtime(t, join(folder, 'gone'));
    assert.notEqual(controlDirectory(), null);
  });

  test('processes meet in the same place, whatever XDG_RUNTIME_DIR says', (t) => {
    const place = meetingDirectory();
    runtime(t, folderFor(t));
    assert.equal(meetingDirectory(), place);
  });
});
