// Who looks at a server from outside finds what there is with Node's own code.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

test('handles, resources, contexts, events and messages are those of Node', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('observers/observed-from-outside.js')), '');
});

/** What a script prints on the stack. */
async function run(script, ...flags) {
  const args = [...flags, '--import', REGISTER, '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  return JSON.parse(stdout);
}

test('a server without a minimum rate has no timer for rates', { timeout: 60_000 }, async () => {
  const found = await run(`
    import { createHook } from 'node:async_hooks';
    import { once } from 'node:events';
    import http from 'node:http';
    let timers = 0;
    createHook({ init: (_id, type) => { if (type === 'Timeout') timers++; } }).enable();
    const server = http.createServer();
    await once(server.listen(0), 'listening');
    const first = timers;
    server.minSendRate = 100;
    server.minSendRate = 200;
    const limited = timers - first;
    server.minSendRate = 0;
    server.minReceiveRate = 1;
    console.log(JSON.stringify({ first, limited, again: timers - first - limited }));
    process.exit();
  `);
  // Those that check for slow heads: Node's own and the stack's.
  assert.deepEqual(found, { first: 2, limited: 1, again: 1 });
});

test('a string of a request that is kept does not keep its head', {
  timeout: 60_000,
}, async () => {
  const { bytes } = await run(
    `
    import { once } from 'node:events';
    import http from 'node:http';
    import net from 'node:net';
    const COUNT = 1000;
    const kept = [];
    const server = http.createServer((request, response) => {
      kept.push(request.url, request.headers['x-long-name-of-a-field'], request.rawHeaders[4]);
      response.end();
      if (kept.length === 3 * COUNT) server.emit('done');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = net.connect(server.address().port, '127.0.0.1').resume();
    gc();
    const before = process.memoryUsage().heapUsed;
    const fields = 'X-Long-Name-Of-A-Field: and its value\\r\\nX-Other-Long-Name: 1\\r\\n';
    const done = once(server, 'done');
    for (let index = 0; index < COUNT; index++) {
      const cookie = 'Cookie: ' + 'c'.repeat(6000);
      client.write('GET /path/of/an/item/' + index + ' HTTP/1.1\\r\\nHost: a\\r\\n' + fields + cookie + '\\r\\n\\r\\n');
    }
    await done;
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
    await new Promise(setImmediate);
    gc();
    console.log(JSON.stringify({ bytes: (process.memoryUsage().heapUsed - before) / COUNT }));
    process.exit();
  `,
    '--expose-gc',
  );
  assert.ok(bytes < 2000, `${bytes} bytes of each request`);
});
