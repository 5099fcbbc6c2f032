// What the probe sees inside a server: of requests, of the loop, of threads, heap and output.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import {
  near,
  observe,
  PATIENCE_MS,
  patience,
  STACK,
  served,
} from '../../fixtures/explain/probed.js';
import { retried } from '../../fixtures/retry.js';

describe('observations of the probe', { concurrency: 2 }, () => {
  test('requests, their handlers and routes are observed', async () => {
    const view = await observe('/timer', { connections: 20, requests: 200 });
    assert.equal(view.processes, 1);
    near(view.inFlight, (view.finished * view.handlerMs) / 1000, 0.2);
    assert.ok(view.inFlight > 5 && view.inFlight <= 20, `${view.inFlight} in flight`);
    assert.ok(view.handlerMs >= 49, `${view.handlerMs} ms`);
    near(view.finished * view.seconds, 200, 0.15);
    const [route, ...others] = view.routes;
    assert.deepEqual(others, []);
    assert.equal(route.route, 'GET /timer');
    assert.ok(route.handlerP50Ms >= 45 && route.handlerP50Ms <= route.handlerP99Ms);
    assert.ok(route.syncMs < 25, `${route.syncMs} ms held`);
  });

  test('one slow route among fast ones is observed, with the stalls it causes', async () => {
    const paths = ['/hello/1', '/hello/2', '/hello/3', '/slow'];
    const view = await observe(paths, { connections: 4, requests: 80 });
    const names = view.routes.map(({ route }) => route).sort();
    assert.deepEqual(names, ['GET /hello/:id', 'GET /slow']);
    const slow = view.routes.find(({ route }) => route === 'GET /slow');
    assert.ok(slow.syncMs >= 39 && slow.syncMaxMs >= slow.syncMs);
    assert.ok(slow.syncShare > 0.5, `${slow.syncShare} of the time`);
    const stalls = view.stalls.byCause.find(({ cause }) => cause === 'GET /slow');
    assert.ok(stalls?.count >= 3 && stalls.ms / stalls.count < 100, JSON.stringify(view.stalls));
    assert.ok(view.stalls.residualMs > 1, `residual ${view.stalls.residualMs} ms`);
    assert.ok(view.utilization > 0.6);
  });

  test('code after a promise that is already settled counts as synchronous', async () => {
    const view = await observe('/later', { connections: 2, requests: 40 });
    assert.ok(view.routes[0].syncMs >= 9.9, `${view.routes[0].syncMs} ms held`);
  });

  test('a synchronous wait without CPU counts as a stall', async () => {
    const view = await observe('/wait', { connections: 2, requests: 60 });
    assert.ok(view.utilization > 0.8);
    assert.equal(view.stalls.byCause[0].cause, 'GET /wait');
  });

  test('a timer that blocks the loop is not a request', async () => {
    const env = { BLOCK_MS: '100' };
    const view = await observe('/timer', { connections: 8, requests: 200, env });
    assert.equal(view.stalls.byCause[0].cause, 'not a request');
    const { longestMs, residualMs } = view.stalls;
    assert.ok(longestMs >= 20 && residualMs > 1, `${longestMs} ms, residual ${residualMs} ms`);
  });

  test('many short handlers are not a stall', async () => {
    const look = () => observe('/hello', { connections: 500, requests: 6000 });
    // The machine may take the core away where the system does not tell of it.
    const view = await retried(look, ({ stalls }) => {
      const own = stalls.byCause.filter(({ cause }) => cause === 'GET /hello');
      assert.ok(stalls.share < 0.1, JSON.stringify(stalls));
      assert.deepEqual(own, []);
    });
    assert.ok(view.loops === null || view.eventsPerLoop > 0);
  });

  test('a full thread pool under an idle loop is observed', async () => {
    const env = { UV_THREADPOOL_SIZE: '3' };
    const full = () => observe('/pool', { connections: 4, requests: 12, env });
    const view = await retried(full, ({ poolMs, utilization }) => {
      assert.ok(poolMs.mean > 10 && poolMs.max >= poolMs.mean, `${poolMs.mean}`);
      assert.ok(utilization < 0.5, `utilization ${utilization}`);
    });
    assert.equal(view.threadPoolSize, '3');
    const idle = () => observe('/timer', { connections: 4, requests: 40 });
    const free = await retried(idle, ({ poolMs }) => {
      assert.ok(poolMs.mean < view.poolMs.mean / 3, `${poolMs.mean} of ${view.poolMs.mean}`);
    });
    assert.equal(free.threadPoolSize, null);
  });

  test('garbage collections and a growing heap are observed', async () => {
    const view = await observe('/garbage', { connections: 4, requests: 200 });
    assert.ok(view.gc.young > 0 && view.gc.longestMs > 0);
    assert.ok(view.heap.usedMb > 1 && view.heap.limitMb > view.heap.usedMb);
    await served({}, async ({ hub, drive }) => {
      await drive('/leak', { connections: 2, requests: 10 });
      const [before] = await hub.command('collect', {});
      await drive('/leak', { connections: 2, requests: 50 });
      const [then] = await hub.command('collect', {});
      assert.ok(then > before + 50 * 10_000 * 8, `${before} → ${then}`);
    });
  });

  test('synchronous writes of output are observed', async () => {
    const view = await observe('/log', { connections: 2, requests: 1000 });
    near(view.output.writes * view.seconds, 1000, 0.15);
    near(view.output.bytes, view.output.writes * 'one line\n'.length, 0.01);
    assert.ok(view.output.share > 0 && view.output.share < 1);
  });

  test('aborted requests do not stay in flight', async () => {
    for (const args of [[], ['--import', STACK]]) {
      await served({ args }, async ({ hub, port, drive }) => {
        const sockets = Array.from({ length: 5 }, () => {
          const socket = connect(port, '127.0.0.1');
          // The second one waits for the first response, without a connection of its own.
          socket.write('GET /forever HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(2));
          return socket;
        });
        await until(hub, (view) => view?.inFlight > 4);
        for (const socket of sockets) socket.destroy();
        await until(hub, (view) => view?.inFlight < 0.1);
        const view = await drive('/hello', { connections: 1, requests: 1500 });
        assert.ok(view.inFlight < 1);
      });
    }
  });

  test('all workers of a cluster are observed, and no process that serves nothing', async () => {
    await served({ env: { WORKERS: '2' } }, async ({ hub, drive }) => {
      const view = await drive('/hello', { connections: 40, requests: 2000 });
      assert.equal(view.processes, 2);
      near(view.finished * view.seconds, 2000, 0.15);
      assert.equal(hub.processes.length, 3);
      const roles = hub.processes.map(({ clusterRole, serving }) => `${clusterRole} ${serving}`);
      assert.deepEqual(roles.sort(), ['primary false', 'worker true', 'worker true']);
    });
  });

  test('workers without requests are observed, but not those with other work', async () => {
    const env = { WORKERS: '2', OTHER_WORK: '1' };
    await served({ env }, async ({ hub, port, drive }) => {
      while (hub.processes.length < 4) await once(hub.events, 'hello', patience());
      hub.setPorts([port]);
      const view = await drive('/hello', { connections: 1, requests: 2000 });
      assert.equal(view.pids.length, 1);
      assert.equal(view.workers.length, 2);
      assert.ok(view.workers.includes(view.pids[0]));
    });
  });

  test('workers that get their connections from the primary are all observed', async () => {
    await served({ env: { STICKY: '1' } }, async ({ hub, port, drive }) => {
      while (hub.processes.length < 3) await once(hub.events, 'hello', patience());
      hub.setPorts([port]);
      const view = await drive('/hello', { connections: 4, requests: 2000 });
      assert.equal(view.pids.length, 1);
      assert.equal(view.workers.length, 2);
    });
  });

  test('the native stack of millrace is observed in the same way', async () => {
    await served({ args: ['--import', STACK] }, async ({ hub, drive }) => {
      const slow = await drive('/slow', { connections: 2, requests: 20 });
      assert.ok(hub.processes[0].stack);
      assert.ok(slow.routes[0].syncMs >= 39);
      assert.equal(slow.stalls.byCause[0].cause, 'GET /slow');
      const timer = await drive('/timer', { connections: 20, requests: 200 });
      assert.ok(timer.handlerMs >= 49 && timer.inFlight > 5);
      await hub.command('spin', { microseconds: 5000 });
      const spun = await drive('/hello', { connections: 4, requests: 100 });
      assert.ok(spun.routes.find(({ route }) => route === 'GET /hello').syncMs >= 5);
    });
  });

  test('requests to other ports are not counted', async () => {
    await served({ env: { OTHER_PORT: '1' } }, async ({ hub, port, drive, driveOtherPort }) => {
      // Before it is told what is: all.
      await driveOtherPort('/here', { connections: 1, requests: 2 });
      const all = await driveOtherPort('/here', { connections: 2, requests: 2000 });
      near(all.finished * all.seconds, 2000, 0.1);
      hub.setPorts([port]);
      await onceServing(hub, false);
      assert.equal(await driveOtherPort('/here', { connections: 2, requests: 2000 }), null);
      assert.equal(await hub.waitUntilServed(1), false);
      assert.deepEqual(await hub.command('spin', { microseconds: 1000 }), []);
      const both = Promise.all([
        drive('/timer', { connections: 4, requests: 80 }),
        driveOtherPort('/here', { connections: 1, requests: 500 }),
      ]);
      assert.equal(await hub.waitUntilServed(PATIENCE_MS), true);
      const [view] = await both;
      assert.deepEqual(
        view.routes.map(({ route }) => route),
        ['GET /timer'],
      );
      hub.setPorts(null);
      const again = await driveOtherPort('/here', { connections: 2, requests: 2000 });
      assert.ok(again.routes.some(({ route }) => route === 'GET /here'));
    });
  });

  test('a process that ends with a full heap is reported, but not one that was to end', async () => {
    const exhaustions = (isMeant) => {
      const env = { NODE_OPTIONS: '--max-old-space-size=64' };
      return served({ env }, async ({ hub, child, drive }) => {
        await drive('/hello', { connections: 1, requests: 2 });
        if (isMeant) hub.disconnect();
        const gone = Promise.all([once(hub.events, 'left', patience()), once(child, 'exit')]);
        // Slowly enough to be seen.
        const slowly = { connections: 1, requests: 5000, samples: false };
        await drive(['/timer', '/leak'], slowly).catch(() => {});
        await gone;
        return { pid: child.pid, found: hub.heapExhaustions };
      });
    };
    const checkMeant = ({ found }) => assert.deepEqual(found, []);
    // The heap is read twice a second: on a busy machine it may fill between the last reading and the end.
    const checkUnmeant = ({ pid, found }) => {
      assert.deepEqual(
        found.map((exhaustion) => exhaustion.pid),
        [pid],
      );
      assert.ok(found[0].requests > 10);
    };
    await Promise.all([
      exhaustions(true).then(checkMeant),
      retried(() => exhaustions(false), checkUnmeant),
    ]);
  });
});

/** Waits till whether a process serves what is under study is as wanted. */
async function onceServing(hub, wanted) {
  while (hub.processes.some(({ serving }) => serving) !== wanted) {
    await once(hub.events, 'hello', patience());
  }
}

/** Waits till what the probe saw of the last time is as wanted. */
async function until(hub, wanted, lastMs = 150) {
  const { signal } = patience();
  for (;;) {
    await once(hub.events, 'sample', { signal });
    const now = performance.now();
    if (wanted(hub.between(now - lastMs, now))) return;
  }
}
