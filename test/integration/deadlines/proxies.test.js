// Proxies and interceptors of names: limits, errors and counters go by the host that the application calls.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mute, web } from '../../fixtures/deadlines/peers.js';
import { run, runCalls } from '../../fixtures/deadlines/program.js';

const limits = { timeout: 30_000 };
const major = Number(process.versions.node.split('.')[0]);
const HOST = 'reports.test';

const setUp = (port) => `
  import http from 'node:http';
  import axios from 'axios';
  import * as undici5 from 'undici-5';
  import * as undici6 from 'undici-6';
  import * as undici from 'undici';
  import { stats } from 'millrace/deadlines';
  const proxy = 'http://127.0.0.1:${port}';
  const lookup = (_origin, _options, done) =>
    done(null, [{ address: '127.0.0.1', family: 4, ttl: 1000 }]);
  const names = new undici.Agent().compose(undici.interceptors.dns({ lookup }));
  const text = async (response) => (await response).text();
  const read = (options) => new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port: ${port}, agent: false, ...options }, (response) =>
      response.once('data', (data) => resolve(String(data)))).on('error', reject);
  });`;

const url = `'http://${HOST}/'`;
const CALLS = {
  'a request for a URL': `read({ path: ${url}, headers: { host: '${HOST}' } })`,
  axios: `axios.get(${url}).then(({ data }) => data)`,
  'undici, a request for a URL': `new undici.Client(proxy).request({ path: ${url}, method: 'GET' }).then(({ body }) => body.text())`,
  'undici, a proxy without tunnels': `text(undici.fetch(${url}, {
    dispatcher: new undici.ProxyAgent({ uri: proxy, proxyTunnel: false }) }))`,
  'undici, a proxy with tunnels': `text(undici.fetch(${url}, {
    dispatcher: new undici.ProxyAgent({ uri: proxy, proxyTunnel: true }) }))`,
  'undici 6, a proxy': `text(undici6.fetch(${url}, { dispatcher: new undici6.ProxyAgent(proxy) }))`,
  'undici 5, a proxy': `text(undici5.fetch(${url}, { dispatcher: new undici5.ProxyAgent(proxy) }))`,
  'undici, an interceptor that looks up names': (port) =>
    `text(undici.fetch('http://${HOST}:${port}/', { dispatcher: names }))`,
  ...(major >= 26 ? { "Node's fetch": `text(fetch(${url}))` } : {}),
  ...(major >= 26
    ? { "Node's agents": `read({ host: '${HOST}', port: 80, agent: undefined })` }
    : {}),
};

/** Answers requests, and those in tunnels, after 900 ms. */
async function lateProxy(t) {
  const peer = await web(t, (_request, response) => setTimeout(() => response.end('late'), 900));
  peer.server.on('connect', (_request, socket) => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    peer.server.emit('connection', socket);
  });
  return peer;
}

const environment = (port) => {
  const proxy = `http://127.0.0.1:${port}`;
  return {
    ...{ HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, https_proxy: proxy },
    ...{ NO_PROXY: '', no_proxy: '', NODE_USE_ENV_PROXY: '1', NODE_NO_WARNINGS: '1' },
  };
};

describe('the host is the one that the application calls', { concurrency: 4 }, () => {
  const sources = (port) =>
    Object.fromEntries(
      Object.entries(CALLS).map(([name, call]) => [
        name,
        typeof call === 'function' ? call(port) : call,
      ]),
    );

  test('its limits hold behind proxies and interceptors', limits, async (t) => {
    const { port } = await lateProxy(t);
    const env = {
      ...environment(port),
      ...{ MILLRACE_DEADLINE_TOTAL: '400ms', MILLRACE_DEADLINE_HOSTS: `${HOST}=9s` },
    };
    const told = await runCalls(sources(port), { setUp: setUp(port), env });
    assert.deepEqual(told, Object.fromEntries(Object.keys(CALLS).map((name) => [name, 'late'])));
  });

  test('errors and counters name it', limits, async (t) => {
    const { port } = await mute(t);
    const env = { ...environment(port), MILLRACE_DEADLINE_TOTAL: '400ms' };
    const calls = Object.fromEntries(
      Object.entries(sources(port)).map(([name, call]) => [
        name,
        `${call}.catch((error) => (error.cause?.cause ?? error.cause ?? error).host)`,
      ]),
    );
    // Read when all others have ended.
    calls.counters = '(await sleep(1500), Object.keys(stats().hosts))';
    const { counters, ...told } = await runCalls(calls, { setUp: setUp(port), env });
    assert.deepEqual(told, Object.fromEntries(Object.keys(CALLS).map((name) => [name, HOST])));
    const proxied = counters.filter((name) => name !== HOST);
    // The connections are those to the proxy.
    assert.deepEqual(proxied, ['127.0.0.1']);
  });

  test('a name in Host does not replace the name of a URL', limits, async (t) => {
    const { port } = await mute(t);
    const program = `${setUp(port)}
      await undici.request('http://localhost:${port}/', { headers: { host: '${HOST}' } }).catch(() => {});
      const { 'localhost': own, '${HOST}': other } = stats().hosts;
      console.log(own.calls, other);
      process.exit();`;
    const { stdout } = await run(program, { MILLRACE_DEADLINE_TOTAL: '300ms' });
    assert.equal(stdout, '1 undefined\n');
  });
});

test('a proxy that does not answer CONNECT keeps no connection', limits, async (t) => {
  const proxy = await mute(t);
  const ask = (agent) => `new Promise((resolve) =>
    https.get('https://x.test/', { agent: ${agent} }).on('error', ({ limit }) => resolve(limit)))`;
  const calls = {
    axios: "axios.get('https://x.test/')",
    // As agents do that are built on agent-base.
    'an agent that connects later': ask('new LateAgent()'),
    ...(major >= 26 ? { "Node's agent": ask('undefined') } : {}),
    ...(major >= 26 ? { "Node's agent, first of a queue": ask('single') } : {}),
    ...(major >= 26 ? { "Node's agent, second of a queue": ask('single') } : {}),
    // The process goes on meanwhile.
    open: `new Promise((resolve) => {
      const check = async () => {
        const open = Number(await (await fetch(teller)).text());
        if (open === 0) resolve(0);
        else setTimeout(check, 20);
      };
      setTimeout(check, 700);
    })`,
  };
  const teller = await web(t, (_request, response) => response.end(String(proxy.sockets.size)));
  const told = await runCalls(calls, {
    setUp: `import https from 'node:https';
      import net from 'node:net';
      import axios from 'axios';
      class LateAgent extends https.Agent {
        createSocket(request, options, onSocket) {
          Promise.resolve().then(() => this.connect(request)).catch(onSocket);
        }
        connect() {
          const socket = net.connect(${proxy.port}, '127.0.0.1');
          socket.write('CONNECT x.test:443 HTTP/1.1\\r\\n\\r\\n');
          return new Promise((resolve, reject) => socket.on('data', resolve).on('error', reject));
        }
      }
      const single = new https.Agent({ maxSockets: 1, proxyEnv: process.env });
      const teller = 'http://127.0.0.1:${teller.port}/';`,
    env: {
      ...environment(proxy.port),
      ...{ NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', MILLRACE_DEADLINE_TOTAL: '300ms' },
      MILLRACE_DEADLINE_HOSTS: '127.0.0.1=20s',
    },
  });
  const expected = (name) => (name === 'open' ? 0 : 'total');
  assert.deepEqual(
    told,
    Object.fromEntries(Object.keys(calls).map((name) => [name, expected(name)])),
  );
});

test('limits hold in a tunnel whose end is silent in the TLS handshake', limits, async (t) => {
  const proxy = await web(t, () => {});
  proxy.server.on('connect', (_request, socket) => {
    socket.on('error', () => {}).resume();
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  });
  // Each has a host of its own: a connection that other calls may wait for goes on.
  const clients = {
    undici5: 'undici5.fetch(url, { dispatcher: agents[5] })',
    undici6: 'undici6.fetch(url, { dispatcher: agents[6] })',
    undici7: 'undici.fetch(url, { dispatcher: agents[7] })',
    ...(major >= 26 ? { own: 'fetch(url)' } : {}),
  };
  const settings = { total: { total: '300ms', tls: '5s' }, tls: { total: 'off', tls: '300ms' } };
  for (const [limit, { total, tls }] of Object.entries(settings)) {
    const calls = Object.fromEntries(
      Object.entries(clients).map(([name, call]) => [
        name,
        `twice('https://${name}.test/', (url) => ${call})`,
      ]),
    );
    const told = await runCalls(calls, {
      setUp: `${setUp(proxy.port)}
        const agents = {
          5: new undici5.ProxyAgent(proxy),
          6: new undici6.ProxyAgent(proxy),
          7: new undici.ProxyAgent(proxy),
        };
        const twice = async (url, call) => {
          const told = [];
          for (let calls = 0; calls < 2; calls++) {
            const since = performance.now();
            const { cause } = await call(url).catch((error) => error);
            told.push([cause.limit, cause.code, cause.host, performance.now() - since < 1500].join());
          }
          return told;
        };`,
      env: {
        ...environment(proxy.port),
        ...{ MILLRACE_DEADLINE_TOTAL: total, MILLRACE_DEADLINE_TLS: tls },
      },
    });
    const line = (name) => `${limit},UND_ERR_CONNECT_TIMEOUT,${name}.test,true`;
    assert.deepEqual(
      told,
      Object.fromEntries(Object.keys(clients).map((name) => [name, [line(name), line(name)]])),
    );
  }
});
