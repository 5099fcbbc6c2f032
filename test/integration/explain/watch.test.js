// A service in production: `millrace/observe` inside, `millrace explain --watch` beside it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { notLinux } from '../../fixtures/explain/probed.js';
import {
  driving,
  end,
  isThere,
  patience,
  startWatch,
  until,
  withService,
} from '../../fixtures/watch/watched.js';

const skip = notLinux();

/** Sends commands over a service's socket, and returns the answers. */
async function command(path, commands) {
  const socket = connect(path);
  const lines = createInterface({ input: socket });
  const answers = [];
  lines.on('line', (line) => {
    const message = JSON.parse(line);
    if (message.type === 'answer') answers.push(message);
  });
  commands.forEach(([name, args], id) => {
    socket.write(`${JSON.stringify({ id, command: name, arguments: args })}\n`);
  });
  while (answers.length < commands.length) await once(lines, 'line', patience());
  socket.destroy();
  return answers;
}

describe('millrace/observe', { skip, concurrency: 3 }, () => {
  test('listens where only its user can enter, and replaces nothing until a watch connects', async () => {
    await withService({}, async ({ child, folder, socket, ask, listReplaced }) => {
      await until(() => isThere(socket));
      const directory = lstatSync(join(folder, `millrace-${process.getuid()}`));
      assert.equal(directory.mode & 0o777, 0o700);
      assert.equal(await ask('/hello'), 200);
      assert.deepEqual(await listReplaced(), []);
      child.send({ exit: true });
      await once(child, 'exit');
      assert.equal(isThere(socket), false, 'the socket is removed');
    });
  });

  test('permits only commands that observe', async () => {
    await withService({}, async ({ socket, ask }) => {
      await until(() => isThere(socket));
      await ask('/hello');
      const refused = [
        ['spin', { microseconds: 1e6 }],
        ['mute', { on: true }],
        ['cork', { on: true }],
        ['maxSockets', { factor: 2 }],
        ['noDelay', { on: true }],
        ['outboundDelay', { ms: 1000 }],
        ['collect', {}],
        ['inlining', { on: false }],
        ['waits', { ms: 60_000, depth: 16 }],
        ['profile', { ms: 60_000 }],
        ['no-such-command', {}],
      ];
      const permitted = [
        ['setPorts', { ports: null }],
        ['subscribe', { on: true }],
        ['sample', {}],
        ['observeHttp2', {}],
        ['writtenFiles', {}],
        ['waits', { ms: 50, depth: 16 }],
        ['profile', { ms: 50 }],
      ];
      const tooSoon = [
        ['waits', { ms: 50, depth: 16 }],
        ['profile', { ms: 50 }],
      ];
      const answers = await command(socket, [...refused, ...permitted, ...tooSoon]);
      assert.equal(answers.length, refused.length + permitted.length + tooSoon.length);
      for (const { id, error } of answers) {
        const isPermitted = id >= refused.length && id < refused.length + permitted.length;
        if (isPermitted) assert.equal(error, undefined);
        else assert.match(error, /^Error: not permitted in production: /);
      }
    });
  });

  test('leaves a pipe that the application has not opened as it is', async () => {
    await withService({ stdout: 'pipe' }, async ({ child, socket, ask }) => {
      const readFlags = () =>
        /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${child.pid}/fdinfo/1`, 'utf8'))[1];
      const before = readFlags();
      await until(() => isThere(socket));
      await ask('/hello');
      await command(socket, [['sample', {}]]);
      assert.equal(readFlags(), before);
    });
  });

  test('ends the channel of whoever sends what is no command', async () => {
    await withService({}, async ({ socket, ask }) => {
      await until(() => isThere(socket));
      const channel = connect(socket);
      // The other end may close before all is written.
      const closed = new Promise((resolve) => channel.on('error', resolve).on('close', resolve));
      channel.resume().write('x'.repeat(2_000_000));
      await closed;
      assert.equal(await ask('/hello'), 200);
    });
  });

  test('runs the application where no folder can be used', async () => {
    const long = { TMPDIR: `/tmp/${'x'.repeat(200)}`, XDG_RUNTIME_DIR: '/no-such-folder' };
    await withService({ env: long }, async ({ ask }) => assert.equal(await ask('/hello'), 200));
  });

  test('does not use a folder that others can enter, or a link', async () => {
    for (const spoil of [
      (path) => {
        mkdirSync(path);
        chmodSync(path, 0o755);
      },
      (path) => {
        mkdirSync(`${path}-other`, 0o700);
        symlinkSync(`${path}-other`, path);
      },
    ]) {
      await withService({ args: [] }, async ({ folder }) => {
        spoil(join(folder, `millrace-${process.getuid()}`));
        await withService({ env: { TMPDIR: folder } }, async ({ child, ask }) => {
          assert.equal(await ask('/hello'), 200);
          const name = `observe-${child.pid}.sock`;
          assert.equal(isThere(join(folder, `millrace-${process.getuid()}`, name)), false);
          assert.equal(isThere(join(folder, `millrace-${process.getuid()}-other`, name)), false);
        });
      });
    }
  });
});

describe('explain --watch', { skip, concurrency: 3 }, () => {
  test('names what limits a service from the requests of its clients, and undoes all at its end', async () => {
    await withService({}, async (service) => {
      await driving(service, '/pool', 12, async () => {
        const watch = startWatch(service.child.pid, ['--interval', '2s']);
        // Other programs on this machine may be a limit too.
        const { verdict, remedy, traffic, confirmation, waits, cannotSee } = await watch.report(
          ({ verdict: { limit, alsoLimiting } }) =>
            [limit, ...alsoLimiting].includes('outbound-pool'),
        );
        assert.equal(verdict.status, 'likely');
        if (verdict.limit === 'outbound-pool') {
          assert.match(verdict.sentence, /pool of 2 connections to http:\/\/127\.0\.0\.1:\d+/);
          assert.match(confirmation, /'max sockets x2' of millrace explain/);
          assert.match(remedy, /; the requests wait in \S*pool .*service\.mjs:\d+\)$/);
        }
        assert.match(waits[0].waitsFor, /^http:\/\/127\.0\.0\.1:\d+: a connection$/);
        assert.match(waits[0].frames.at(-1).place, /service\.mjs:\d+$/);
        assert.ok(traffic.rate > 20 && traffic.inFlight > 6, JSON.stringify(traffic));
        assert.deepEqual(
          cannotSee.filter((line) => /from inside/.test(line)),
          [],
        );
        assert.notDeepEqual(await service.listReplaced(), []);
        await end(watch.child);
        await until(async () => (await service.listReplaced()).length === 0);
      });
    });
  });

  test('explains the window in which a condition became true, and ends', async () => {
    await withService({}, async (service) => {
      await driving(service, '/wait', 4, async () => {
        const flags = ['--until', 'p99>300ms', '--interval', '1s'];
        const watch = startWatch(service.child.pid, flags);
        await until(async () => (await service.listReplaced()).length > 0);
        service.child.send({ delayMs: 400 });
        const report = await watch.report();
        assert.equal(report.reason, 'condition');
        assert.equal(report.condition.condition, 'p99>300ms');
        assert.ok(report.condition.value > 300);
        assert.deepEqual(await watch.exited, [0, null]);
      });
    });
  });

  test('counts errors and aborted requests, and only those of the port', async () => {
    await withService({}, async (service) => {
      await driving(service, '/fail', 2, async () => {
        const watch = startWatch(service.child.pid, [
          ...['--interval', '1s', `http://127.0.0.1:${service.port}/`],
        ]);
        const { traffic, verdict } = await watch.report(({ traffic }) => traffic?.rate > 0);
        assert.equal(traffic.errorShare, 1);
        assert.equal(verdict.limit, 'errors');
        await end(watch.child);
      });
    });
  });

  test('says that no request came, and ends if nobody reads on', async () => {
    await withService({}, async ({ child }) => {
      const watch = startWatch(child.pid, ['--interval', '1s']);
      const { verdict, processes } = await watch.report();
      assert.equal(verdict.status, 'no-limit');
      assert.match(
        verdict.sentence,
        /no request came to node:http or node:http2 in process \d+ in 1\.0/,
      );
      assert.equal(processes[0].isObserved, true);
      watch.child.stdout.destroy();
      assert.deepEqual(await watch.exited, [0, null]);
      assert.equal(watch.errors(), '');
    });
  });

  test('counts the time of a request until its client gives it up', async () => {
    await withService({}, async ({ child, port }) => {
      child.send({ delayMs: 60_000 });
      const watch = startWatch(child.pid, ['--interval', '1s']);
      await watch.report();
      const stop = new AbortController();
      const giveUp = async () => {
        while (!stop.signal.aborted) {
          const signal = AbortSignal.timeout(20);
          await fetch(`http://127.0.0.1:${port}/wait`, { signal }).catch(() => {});
        }
      };
      const given = Promise.all([giveUp(), giveUp()]);
      const { traffic } = await watch.report((report) => report.traffic?.abortedShare > 0.9);
      assert.ok(traffic.responseMs.p50 < 200, JSON.stringify(traffic));
      stop.abort();
      await given;
      await end(watch.child);
    });
  });

  test('sees the workers of a cluster, each with a channel of its own', async () => {
    await withService({ env: { WORKERS: '2' } }, async (service) => {
      await driving(service, '/busy', 8, async () => {
        const watch = startWatch(service.child.pid, ['--interval', '1s']);
        const { processes } = await watch.report(
          (report) => report.processes.filter(({ isObserved }) => isObserved).length === 2,
        );
        const primary = processes.find(({ pid }) => pid === service.child.pid);
        assert.equal(primary.isObserved, false);
        await end(watch.child);
      });
    });
  });

  test('ends with the service', async () => {
    await withService({}, async ({ child }) => {
      const watch = startWatch(child.pid, ['--interval', '1s']);
      await watch.report();
      await end(child, 'SIGTERM');
      assert.deepEqual(await watch.exited, [0, null]);
      assert.match(watch.errors(), /^process \d+ has ended; the watch ends with it\n$/);
    });
  });

  test('says how a service is seen from inside, and that one watch at a time sees it', async () => {
    await withService({ args: [] }, async ({ child }) => {
      const watch = startWatch(child.pid, ['--interval', '1s']);
      const { traffic, verdict, cannotSee } = await watch.report();
      assert.equal(traffic, null);
      assert.equal(verdict.status, 'cannot-tell');
      assert.match(
        cannotSee[0],
        /start it with node --import millrace\/observe .* or use --attach/,
      );
      await end(watch.child);
    });
    await withService({}, async ({ child, socket }) => {
      await until(() => isThere(socket));
      const other = connect(socket);
      await once(other, 'data', patience());
      const watch = startWatch(child.pid, ['--interval', '1s']);
      const { cannotSee } = await watch.report();
      assert.match(cannotSee[0], /another watch observes it/);
      other.destroy();
      await end(watch.child);
    });
  });

  test('refuses to wait for what it cannot see', async () => {
    await withService({ args: [] }, async ({ child }) => {
      const watch = startWatch(child.pid, ['--until', 'p99>5s']);
      assert.deepEqual(await watch.exited, [2, null]);
      assert.match(
        watch.errors(),
        /^millrace: cannot wait for p99>5s: the requests are not observed; inside process \d+: start it with/,
      );
    });
  });

  test('refuses in one line what a watch has no use for', async () => {
    /** @type {[string[], RegExp][]} */
    const cases = [
      [['--until', 'p99<500ms'], /^millrace: --until must be a condition to wait for/],
      [['-c', '5'], /--watch does not support -c: it supports --pid, --attach/],
      [['--interval', '1ms'], /--interval must be from 1s to 10min/],
    ];
    for (const [flags, message] of cases) {
      const watch = startWatch(process.pid, flags);
      assert.deepEqual(await watch.exited, [2, null]);
      assert.match(watch.errors(), message);
      assert.equal(watch.errors().trim().split('\n').length, 1);
    }
  });
});
