// The threads of a server, from outside.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertWants,
  BUSY,
  during,
  node,
  now,
  until,
  watch,
} from '../../fixtures/explain/observed-processes.js';
import { retried } from '../../fixtures/retry.js';

const skip = process.platform !== 'linux' && 'needs /proc';
const timeout = 180_000;
const has = (program) => spawnSync('which', [program]).status === 0;
const noTaskset = !has('taskset') && 'needs taskset';

describe('the threads of a server', { skip, timeout }, () => {
  test('a busy loop runs or waits for a core all the time', async () => {
    const child = await node(BUSY);
    const ownSeconds = async () => {
      child.send('CPU?');
      const [{ user, system }] = await once(child, 'message');
      return (user + system) / 1e6;
    };
    const watching = watch(child.pid);
    const look = async () => {
      const before = await ownSeconds();
      const view = await during(watching, () => sleep(1000));
      return { ...view, own: (await ownSeconds()) - before };
    };
    const { processes, seconds } = await retried(look, ({ processes, cpu, seconds, own }) => {
      const [{ main }] = processes;
      assertWants(main, cpu);
      // By its own account, which begins a little before and ends a little after.
      assert.ok(
        within(cpu.server * seconds, own * 0.7, own * 1.05),
        `${cpu.server * seconds} of ${own}`,
      );
      assert.ok(within(main.run, cpu.server * 0.8, cpu.server), `${main.run} of ${cpu.server}`);
    });
    const [{ pid, main }] = processes;
    assert.equal(pid, child.pid);
    assert.equal(main.tid, child.pid);
    assert.ok(seconds >= 0.99);
  });

  test('a thread that shares its core waits for it', { skip: noTaskset }, async () => {
    const before = ['taskset', '-c', '0'];
    const [child] = await Promise.all([node(BUSY, { before }), node(BUSY, { before })]);
    const watching = watch(child.pid);
    const look = () => during(watching, () => sleep(1500));
    const { cpu } = await retried(look, ({ processes, cpu }) => {
      const [{ main }] = processes;
      assert.ok(main.queued > 0.2, `${main.queued}`);
      assertWants(main, cpu);
      assert.ok(cpu.others > 0.1, `${cpu.others}`);
    });
    assert.equal(cpu.cores, 1);
  });

  test('threads of the pool are separate from that of the loop, also if they start later', async () => {
    const child = await node(`
      const { pbkdf2 } = require('crypto');
      const job = () => pbkdf2('secret', 'salt', 20_000, 64, 'sha512', job);
      process.once('message', () => { for (let i = 0; i < 4; i++) job(); });
      process.send(1);`);
    const watching = watch(child.pid);
    const idle = await during(watching, () => sleep(100));
    child.send('begin');
    const busy = await during(watching, () => sleep(1000));
    assert.equal(busy.processes[0].others.length, idle.processes[0].others.length + 4);
    const [{ main, others }] = busy.processes;
    const working = others.filter(({ run, queued }) => run + queued > 0.3);
    assert.equal(working.length, 4);
    assert.ok(main.run < 0.3, `${main.run}`);
  });

  test('threads of descendants that start later count', async () => {
    const child = await node(`
      const { spawn } = require('child_process');
      process.once('message', () => {
        const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
        const grandchild = spawn(process.execPath, ['-e', ${JSON.stringify(BUSY)}], { stdio });
        grandchild.once('message', () => process.send(grandchild.pid));
        process.once('disconnect', () => grandchild.kill('SIGKILL'));
      });
      process.send(1);`);
    const watching = watch(child.pid);
    child.send('fork');
    const [grandchild] = await once(child, 'message');
    const fromMs = now();
    const view = await until(() => {
      const seen = watching.between(fromMs, now());
      return seen?.processes.length === 2 && seen;
    });
    assert.equal(view.processes[1].pid, grandchild);
    const { run, queued } = view.processes[1].main;
    assert.ok(run + queued > 0.05, `${run} + ${queued}`);
    child.disconnect();
  });

  test('threads of this process are reported as well', async () => {
    const child = await node('process.send(1); setInterval(() => {}, 1e6);');
    const watching = watch(child.pid);
    const work = () => {
      for (const end = now() + 500; now() < end; );
    };
    await retried(
      () => during(watching, work),
      ({ cpu, selfQueued }) => {
        assertWants({ run: cpu.self, queued: selfQueued }, cpu);
        assert.ok(cpu.server < 0.2);
      },
    );
  });
});

function within(value, low, high) {
  return value >= low && value <= high;
}
