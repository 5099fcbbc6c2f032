// A second process of a command beside the first: it listens elsewhere, and both have the load.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openProbeHub, PRELOAD } from '#internal/explain/observe/probe/hub.js';
import { runLoad } from '#internal/load/engine/run.js';
import { findFreePorts } from '#internal/process/listening/free-port.js';
import { findListeningPaths } from '#internal/process/listening/unix-listeners.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace moved-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Listens in a child process by each of the arguments given as source; the ports that they got. */
async function portsOf(listens, moved) {
  const script = join(folder, 'server.mjs');
  writeFileSync(
    script,
    `import { createServer } from 'node:http';
    const servers = [${listens.map((given) => `createServer().listen(${given})`).join(', ')}];
    await Promise.all(servers.map((server) => new Promise((done) => server.once('listening', done))));
    process.send(servers.map((server) => server.address().port ?? server.address()));
    process.on('disconnect', () => process.exit());`,
  );
  const asked = { script: moved.script ?? script, from: moved.from, to: moved.to };
  const child = spawn(process.execPath, ['--require', PRELOAD, script], {
    env: { ...process.env, MILLRACE_PROBE_MOVED: JSON.stringify(asked) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [ports] = await once(child, 'message');
  child.disconnect();
  await exited;
  return ports;
}

describe('the ports of a second process', () => {
  const forms = [
    (port) => `${port}`,
    (port) => `'${port}', '127.0.0.1'`,
    (port) => `{ port: ${port}, host: '127.0.0.1' }`,
  ];
  for (const form of forms) {
    test(`listen(${form('PORT')}) is moved to another port`, async () => {
      const [from, to] = await findFreePorts(2);
      assert.deepEqual(await portsOf([form(from)], { from, to }), [to]);
    });
  }

  test('ports other than the wanted one are replaced by any free port', async () => {
    const [from, to, admin] = await findFreePorts(3);
    const [first, second] = await portsOf([`${admin}`, `${from}`], { from, to });
    assert.equal(second, to);
    assert.ok(first > 0 && ![admin, from, to].includes(first), `${first}`);
  });

  test('a path is kept, and other programs are not changed', async () => {
    const [from, to] = await findFreePorts(2);
    const path = join(folder, 'server.sock');
    assert.deepEqual(await portsOf([`'${path}'`], { from, to }), [path]);
    const script = join(folder, 'another.mjs');
    assert.deepEqual(await portsOf([`${from}`], { script, from, to }), [from]);
  });
});

test('a second process ends with millrace, and one that is not moved continues', {
  timeout: 60_000,
}, async () => {
  const script = join(folder, 'stays.mjs');
  writeFileSync(script, "setInterval(() => {}, 1e6); process.send('here');");
  for (const isMoved of [true, false]) {
    const hub = await openProbeHub();
    const moved = { script: isMoved ? script : 'another', from: 1, to: 2 };
    const child = spawn(process.execPath, [script], {
      env: { ...hub.environment(process.env), MILLRACE_PROBE_MOVED: JSON.stringify(moved) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const exited = once(child, 'exit');
    const joined = once(hub.events, 'hello');
    await Promise.all([once(child, 'message'), joined]);
    await hub.close();
    if (!isMoved) child.kill('SIGKILL');
    assert.deepEqual(await exited, isMoved ? [0, null] : [null, 'SIGKILL']);
  }
});

test('the paths on which a server listens are known, as a second one would replace them', async () => {
  const path = join(folder, 'own.sock');
  const own = () => findListeningPaths(process.pid).filter((it) => it.startsWith(folder));
  const server = createServer().listen(path);
  await once(server, 'listening');
  const found = own();
  server.close();
  await once(server, 'close');
  assert.deepEqual(found, [path]);
  assert.deepEqual(own(), []);
});

test('both servers get the same requests', async () => {
  const seen = [[], []];
  const servers = seen.map((requests) =>
    createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.host}`);
      response.end('here');
    }).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const [first, second] = servers.map((server) => server.address().port);
  const url = `http://127.0.0.1:${first}/path`;
  const { result } = await runLoad(
    { url, connections: 4, requests: 200, method: 'PUT' },
    { secondEndpoint: { host: '127.0.0.1', port: second } },
  );
  for (const server of servers) server.close();
  assert.equal(result.requests.ok, 200);
  for (const requests of seen) {
    assert.ok(requests.length >= 90 && requests.length <= 110, `${requests.length} of 200`);
    assert.deepEqual([...new Set(requests)], [`PUT /path 127.0.0.1:${first}`]);
  }
});
