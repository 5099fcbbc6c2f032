// HTTP over a socket in the file system has the path of the socket as its host, for each library.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000, skip: process.platform === 'win32' };

/** Answers at `path` after half a second. */
async function late(t) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-unix-'));
  const path = join(folder, 'App.sock');
  const server = createServer((_request, response) => setTimeout(() => response.end('late'), 500));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await once(server.listen(path), 'listening');
  return path;
}

for (const kind of ['http', 'undiciSocket']) {
  test(`${kind}: unix:PATH=off turns the limits of a socket off`, limits, async (t) => {
    const socketPath = await late(t);
    const env = {
      MILLRACE_DEADLINE_TOTAL: '200ms',
      MILLRACE_DEADLINE_HOSTS: `unix:${socketPath}=off`,
    };
    const { call, stats } = service(t, env);
    assert.equal((await call(kind, { socketPath })).value, 'late');
    const { calls, inFlight, hosts } = await stats();
    const { [`unix:${socketPath}`]: own } = hosts;
    assert.deepEqual([calls, inFlight, own.calls, own.inFlight], [1, 0, 1, 0]);
  });

  test(`${kind}: a socket may have a limit of its own`, limits, async (t) => {
    const socketPath = await late(t);
    const env = { MILLRACE_DEADLINE_HOSTS: `unix:${socketPath}=100ms` };
    const { call } = service(t, env);
    const { error } = await call(kind, { socketPath });
    assert.deepEqual(
      [error.limit, error.limitMs, error.host],
      ['total', 100, `unix:${socketPath}`],
    );
  });
}
