// The timeout of a signal applies to all requests of a redirected call, where the library listens to it once.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { web } from '../../fixtures/deadlines/peers.js';

const cwd = fileURLToPath(new URL('../../..', import.meta.url));

/** Adds a listener, and makes all requests with the same options, as axios and follow-redirects do. */
const program = (port) => `
  import http from 'node:http';
  const send = (options, redirectable) =>
    new Promise((resolve) => {
      const request = http.request(options, (response) => {
        response.resume();
        const { location } = response.headers;
        if (!location) return resolve(response.statusCode);
        options.path = location;
        resolve(send(options, redirectable));
      });
      if (redirectable) request._redirectable = redirectable;
      request.on('error', ({ limit }) => resolve(limit)).end();
    });
  const call = (redirectable, ms) => {
    if (ms) AbortSignal.timeout(ms).addEventListener('abort', () => {});
    return send({ host: '127.0.0.1', port: ${port}, path: '/', agent: false }, redirectable);
  };
  const told = [await call({}, 5000), await call({})];
  // Options that are shared by several calls are not those of a redirect.
  const shared = { host: '127.0.0.1', port: ${port}, path: '/late', agent: false };
  AbortSignal.timeout(5000).addEventListener('abort', () => {});
  told.push(await send(shared), await send(shared));
  console.log(JSON.stringify(told));
  process.exit();`;

test('a redirect that follow-redirects follows keeps the timeout of its signal', {
  timeout: 30_000,
}, async (t) => {
  const { port } = await web(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { Location: '/late' }).end();
    else setTimeout(() => response.end('late'), 500);
  });
  const argv = [
    '--import',
    'millrace/deadlines/register',
    '--input-type=module',
    '-e',
    program(port),
  ];
  const env = { ...process.env, MILLRACE_DEADLINE_TOTAL: '200ms' };
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd, env });
  assert.deepEqual(JSON.parse(stdout), [200, 'total', 200, 'total']);
});
