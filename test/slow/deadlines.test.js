// Deadlines with the clients that applications use: each client x limit x situation, so that every pair occurs, on three
// versions of Node.js. `test/fixtures/deadlines/matrix/plan.js` has the rows, and what is not tried.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installNode } from '../../scripts/tests/node-binary.js';
import { startPeers } from '../fixtures/deadlines/matrix/peers.js';
import { CLIENTS, listHoles, planRows, SITUATIONS } from '../fixtures/deadlines/matrix/plan.js';
import { dropping, has } from '../fixtures/deadlines/peers.js';
import { installed } from '../fixtures/packages.js';
import { makeCertificates } from '../fixtures/tls/certificates.js';

const MAJORS = ['20', '24', '26'];
/** Versions of Node.js before these are refused. */
const SINCE = { 'undici 8': 24 };

const PACKAGES = {
  ...{ '@smithy/node-http-handler': '4.14.2', agentkeepalive: '4.6.0', axios: '1.21.1' },
  ...{ gaxios: '7.3.1', got: '14.6.6', ky: '1.14.3', needle: '3.5.0', nock: '13.5.6' },
  ...{ 'node-fetch2': 'npm:node-fetch@2.7.0', 'node-fetch3': 'npm:node-fetch@3.3.2' },
  ...{ superagent: '10.4.2', undici5: 'npm:undici@5.29.0', undici6: 'npm:undici@6.29.1' },
  undici7: 'npm:undici@7.30.2',
};
const NEWER = { undici8: 'npm:undici@8.13.1' };

const app = fileURLToPath(new URL('../fixtures/deadlines/matrix/app.js', import.meta.url));
const cwd = fileURLToPath(new URL('../..', import.meta.url));

const only = (limit) =>
  ['connect', 'tls', 'headers', 'idle', 'total']
    .map((name) => `${name}:${name === limit ? '500ms' : 'off'}`)
    .join();
const ADDRESSES = {
  ...{ '127.0.0.1': 'connect', '127.0.7.2': 'tls', '127.0.7.3': 'headers', '127.0.7.4': 'idle' },
  ...{ '127.0.7.5': 'total', '127.0.7.9': null },
};
const NAMES = { 'headers.test': 'headers', 'idle.test': 'idle', 'total.test': 'total' };
const HOSTS = Object.entries({ ...ADDRESSES, ...NAMES }).map(
  ([host, limit]) => `${host}=${only(limit)}`,
);

const { server: certificate } = makeCertificates();
const rows = planRows();
const { folder, reason } = await installed('deadlines', PACKAGES);
const newer = await installed('deadlines-newer', NEWER).catch(({ message }) => ({
  reason: message,
}));

describe('deadlines, client x limit x situation', {
  concurrency: 2,
  skip: reason ?? (has('python3') ? false : 'needs python3'),
}, () => {
  for (const line of listHoles()) console.log(`# not tried: ${line}`);
  for (const major of MAJORS) {
    for (const client of Object.keys(CLIENTS)) {
      const isOld = Number(major) < (SINCE[client] ?? 0);
      const missing = client === 'undici 8' ? newer.reason : undefined;
      const skip = isOld ? `${client} refuses Node.js ${major}` : (missing ?? false);
      test(`${client} on Node.js ${major}`, { skip, timeout: 60_000 }, async (t) => {
        const own = rows.filter((row) => row.client === client && isPossible(row, major));
        const told = await run(t, { major, client, rows: own });
        const expected = own.map(({ situation, limit }) => {
          const { ends } = SITUATIONS[situation];
          return { situation, limit, how: ends === 'limit' ? limit : ends };
        });
        assert.deepEqual(told, expected);
      });
    }
  }
});

/** Node's own `fetch` speaks HTTP/2 and knows proxies only in its newest version. */
function isPossible({ client, situation }, major) {
  return client !== 'fetch' || !['h2', 'proxy'].includes(situation) || major === '26';
}

async function run(t, { major, client, rows }) {
  const ports = await startPeers(t, certificate);
  const { port: dropped } = await dropping(t);
  const proxy = `http://127.0.7.9:${ports.http}`;
  const byEnvironment =
    client === 'fetch'
      ? { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, NO_PROXY: Object.keys(ADDRESSES).join() }
      : {};
  const child = fork(app, {
    execPath: installNode(major),
    execArgv: ['--import', 'millrace/deadlines/register'],
    cwd,
    env: {
      ...process.env,
      ...{ NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1', ...byEnvironment },
      ...{ MILLRACE_DEADLINE_TOTAL: 'off', MILLRACE_DEADLINE_HEADERS: 'off' },
      ...{ MILLRACE_DEADLINE_IDLE: 'off', MILLRACE_DEADLINE_CONNECT: 'off' },
      ...{ MILLRACE_DEADLINE_TLS: 'off', MILLRACE_DEADLINE_HOSTS: HOSTS.join(';') },
      PACKAGES: client === 'undici 8' ? newer.folder : folder,
      MATRIX: JSON.stringify({ client, rows, ports, dropped }),
    },
  });
  t.after(() => child.kill());
  const [message] = await once(child, 'message');
  assert.equal(message.uncaught, undefined);
  return message.ended;
}
