// What deadlines leave of the process as it is: its asynchronous resources, its HTTP clients, its threads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { run } from '../../fixtures/deadlines/program.js';

const limits = { timeout: 30_000 };

test('the asynchronous resources of a call are destroyed with it', limits, async (t) => {
  const peer = await web(t, (request, response) => {
    if (request.url === '/') response.end('here');
  });
  const { stdout, stderr } = await run(
    `import { createHook } from 'node:async_hooks';
    import http from 'node:http';
    import net from 'node:net';
    const left = new Map();
    createHook({
      init(id, type) { if (type.startsWith('MILLRACE')) left.set(id, type); },
      destroy(id) { left.delete(id); },
    }).enable();
    const agent = new http.Agent({ keepAlive: true });
    const at = { host: '127.0.0.1', port: ${peer.port} };
    const call = (options) => new Promise((resolve) => http.get({ ...at, agent, ...options }, (response) =>
      response.resume().on('close', resolve)).on('error', resolve));
    for (let index = 0; index < 50; index++) await call();
    await call({ path: '/never' });
    await new Promise((resolve) => net.connect({ port: 1, host: '127.0.0.1' }).on('error', resolve));
    const timer = setInterval(() => {
      if (left.size > 0) return;
      clearInterval(timer);
      agent.destroy();
      console.log('none');
      process.exit();
    }, 20);
    setTimeout(() => { console.log([...left.values()].join()); process.exit(); }, 5000);`,
    { MILLRACE_DEADLINE_TOTAL: '300ms' },
  );
  assert.equal(stdout, 'none\n', stderr);
});

test('registering loads no HTTP client', limits, async () => {
  const { stdout } = await run(`
    const known = [1, 2].map((version) => Symbol.for(\`undici.globalDispatcher.\${version}\`));
    console.log(known.some((symbol) => symbol in globalThis));
    process.exit();`);
  assert.equal(stdout, 'false\n');
});

test('undici 6 keeps its own dispatcher, and that of Node 26 its handlers', limits, async (t) => {
  const peer = await web(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/here' }).end();
    else if (request.url === '/here') response.end('here');
    else response.write('part');
  });
  const url = `http://127.0.0.1:${peer.port}/`;
  const env = { MILLRACE_DEADLINE_TOTAL: '600ms' };
  const own = await run(
    `import { createRequire } from 'node:module';
    const { request } = createRequire(import.meta.url)('undici-6');
    const { body } = await request('${url}', { maxRedirections: 2 });
    console.log(await body.text());
    process.exit();`,
    env,
  );
  assert.equal(own.stdout, 'here\n', own.stderr);
  // Loaded later, Node's own undici is the dispatcher.
  const late = await run(
    `await (await fetch('${url}')).text();
    const { createRequire } = await import('node:module');
    const { request } = createRequire(import.meta.url)('undici-6');
    const { body } = await request('${url}part');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    console.log(await body.text().catch(({ limit }) => limit));
    process.exit();`,
    env,
  );
  assert.equal(late.stdout, 'total\n', late.stderr);
});

test(
  'the wait of a name for a thread of this process is not that for its host',
  limits,
  async (t) => {
    const peer = await web(t, (_request, response) => response.end('here'));
    const busy = `
    import { pbkdf2, pbkdf2Sync } from 'node:crypto';
    const since = performance.now();
    pbkdf2Sync('a', 'b', 20_000, 64, 'sha512');
    const rounds = Math.round((20_000 * 1500) / (performance.now() - since));`;
    const env = {
      ...{ UV_THREADPOOL_SIZE: '1', MILLRACE_DEADLINE_CONNECT: '300ms' },
      MILLRACE_DEADLINE_TOTAL: '20s',
    };
    const waiting = await run(
      `${busy}
    pbkdf2('a', 'b', rounds, 64, 'sha512', () => {});
    console.log(await fetch('http://localhost:${peer.port}/').then((r) => r.text(), ({ cause }) => cause.limit));
    process.exit();`,
      env,
    );
    assert.equal(waiting.stdout, 'here\n', waiting.stderr);
    // A look-up of the application's own needs no thread.
    const late = await run(
      `${busy}
    import http from 'node:http';
    pbkdf2('a', 'b', rounds, 64, 'sha512', () => {});
    const lookup = () => {};
    http.get({ host: 'never.test', port: 1, lookup }).on('error', ({ limit, elapsedMs }) => {
      console.log(limit, elapsedMs < 1000);
      process.exit();
    });`,
      env,
    );
    assert.equal(late.stdout, 'connect true\n', late.stderr);
  },
);
