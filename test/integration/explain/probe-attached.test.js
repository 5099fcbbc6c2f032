// The probe in a process that already runs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { attachProbe, attachProbes } from '#internal/explain/observe/probe/attach.js';
import { openProbeHub } from '#internal/explain/observe/probe/hub.js';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { findListeningSockets } from '#internal/process/listening/port-owners.js';
import { near, notLinux, patience, request, served } from '../../fixtures/explain/probed.js';

describe('a running process', () => {
  test('a running process gets the probe by its debugger, which closes again', {
    skip: notLinux(),
  }, async () => {
    await served({ probed: false }, async ({ hub, child, drive }) => {
      await attachProbe(child.pid, hub);
      await drive('/log', { connections: 2, requests: 10 });
      const view = await drive('/log', { connections: 2, requests: 1000 });
      near(view.output.writes * view.seconds, 1000, 0.15);
      await assert.rejects(request(9229, '/json/list'), /ECONNREFUSED/);
    });
  });

  test('a running process has its debugger at the configured address', {
    skip: notLinux(),
  }, async () => {
    const port = await findFreePort();
    const args = [`--inspect-port=${port}`];
    await served({ probed: false, args }, async ({ hub, child, drive }) => {
      await attachProbe(child.pid, hub);
      await drive('/hello', { connections: 1, requests: 10 });
      await assert.rejects(request(port, '/json/list'), /ECONNREFUSED/);
    });
  });

  for (const where of ['', ', each with a port of its own for the debugger']) {
    test(`a running process has the probe in the workers of its cluster${where}`, {
      skip: notLinux(),
    }, async () => {
      const env = { WORKERS: '2' };
      const args = where ? [`--inspect-port=${await freeRun(3)}`] : [];
      await served({ probed: false, env, args }, async ({ hub, child, port, drive }) => {
        const failures = await attachProbes(
          child.pid,
          { host: '127.0.0.1', port },
          hub,
          patience().signal,
        );
        assert.deepEqual(failures, []);
        await drive('/hello', { connections: 4, requests: 10 });
        const view = await drive('/hello', { connections: 40, requests: 2000 });
        assert.equal(view.processes, 2);
        near(view.finished * view.seconds, 2000, 0.15);
        const roles = hub.processes.map(({ clusterRole, serving }) => `${clusterRole} ${serving}`);
        assert.deepEqual(roles, ['worker true', 'worker true']);
        const open = findListeningSockets(child.pid).map((socket) => socket.port);
        assert.deepEqual([...new Set(open)], [port], 'no debugger is left open');
      });
    });
  }

  test('a running process has no probe in workers that serve another port', {
    skip: notLinux(),
  }, async () => {
    const env = { WORKERS: '4', PORTS: '2' };
    await served({ probed: false, env }, async ({ hub, child, port }) => {
      await attachProbes(child.pid, { host: '127.0.0.1', port }, hub, patience().signal);
      assert.equal(hub.processes.length, 2);
    });
  });

  test('the primary of a cluster gets no probe if its workers cannot be observed', {
    skip: notLinux(),
  }, async () => {
    await served({ probed: false, env: { WORKERS: '2' } }, async ({ hub, child }) => {
      const attached = attachProbes(child.pid, null, hub, patience().signal);
      await assert.rejects(attached, /the workers of its cluster that serve the port are unknown/);
      assert.equal(hub.processes.length, 0);
    });
  });

  test('a running process is left unchanged if the probe cannot be loaded', {
    skip: notLinux(),
  }, async () => {
    const hub = await openProbeHub();
    const other = spawn('sleep', ['60']);
    try {
      await once(other, 'spawn');
      const refused = (pid, reason) => assert.rejects(attachProbe(pid, hub), { message: reason });
      await refused(
        other.pid,
        `cannot attach the probe to process ${other.pid}: it is sleep, not node`,
      );
      const none = 2 ** 22 + 1;
      await refused(none, `cannot attach the probe to process ${none}: there is no such process`);
      assert.equal(other.exitCode, null);
    } finally {
      other.kill();
      await hub.close();
    }
  });
});

/** The first of so many ports in a row that are free, below those that the system gives to connections. */
async function freeRun(length) {
  for (let first = 20_000 + (process.pid % 1000) * 10; first < 65_000; first += length) {
    const servers = Array.from({ length }, () => createTcpServer());
    try {
      for (const [index, server] of servers.entries()) {
        server.listen(first + index, '127.0.0.1');
        await once(server, 'listening');
      }
      return first;
    } catch {
      // Somebody has one of them.
    } finally {
      for (const server of servers) server.close();
    }
  }
  throw new Error('no ports in a row are free');
}
