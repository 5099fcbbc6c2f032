// Client libraries on top of node:http and undici.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { runCalls } from '../../fixtures/deadlines/program.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 60_000 };
const env = { MILLRACE_DEADLINE_TOTAL: '1000ms', MILLRACE_DEADLINE_CONNECT: '1000ms' };

/** How each library passes the error on. Its own timeout can be seen. */
const LIBRARIES = {
  axios: { code: 'ETIMEDOUT' },
  got: { code: 'ETIMEDOUT' },
  'node-fetch': { code: 'ETIMEDOUT' },
  superagent: { code: 'ETIMEDOUT' },
  'undici 5': { code: 'UND_ERR_HEADERS_TIMEOUT' },
  'undici 6': { code: 'UND_ERR_HEADERS_TIMEOUT' },
  'undici 5, fetch': { code: 'UND_ERR_HEADERS_TIMEOUT' },
  'undici 6, fetch': { code: 'UND_ERR_HEADERS_TIMEOUT' },
};

// The tests wait most of the time.
describe('a peer that never answers, by library', { concurrency: 4 }, () => {
  for (const [name, { code }] of Object.entries(LIBRARIES)) {
    test(`${name} receives an error that its users know`, limits, async (t) => {
      const { call, stats } = service(t, env);
      const peer = await web(t, (request, response) => {
        if (request.url === '/') response.end('here');
        else if (request.url === '/late') setTimeout(() => response.end('late'), 1500);
      });
      const url = `http://127.0.0.1:${peer.port}/`;
      assert.equal((await call('library', { name, url })).value, 'here');
      const never = await call('library', { name, url: `${url}never` });
      assert.equal(never.error.code, code);
      assert.match(never.error.message, /127\.0\.0\.1: total limit of 1 s reached after [\d.]+ s/);
      // Equals the idle timeout of Node's own agents, which nobody has set.
      const late = await call('library', { name, url: `${url}late`, ms: 5000 });
      assert.equal(late.value, 'late', late.error?.message);
      const { calls, inFlight, hits } = await stats();
      assert.deepEqual([calls, inFlight, hits.total], [3, 0, 1]);
    });
  }
});

test(
  'a body that stops on a connection that is used again has the error of the limit',
  limits,
  async (t) => {
    const stopping = await web(t, (request, response) => {
      if (request.url === '/') {
        response.end('here');
        return;
      }
      response.writeHead(200, { 'content-length': 9 });
      response.write('part');
    });
    const ways = {
      axios: 'axios.get(url, { httpAgent: agent })',
      'axios, no redirections': 'axios.get(url, { httpAgent: agent, maxRedirects: 0 })',
      got: 'got(url, { agent: { http: agent }, retry: { limit: 0 } })',
      superagent: 'superagent.get(url).agent(agent)',
    };
    const calls = Object.fromEntries(
      Object.entries(ways).map(([name, call]) => [
        name,
        `(async () => {
        const agent = new http.Agent({ keepAlive: true });
        const get = async (url) => ${call};
        await get('http://127.0.0.1:${stopping.port}/');
        return get('http://127.0.0.1:${stopping.port}/stops');
      })()`,
      ]),
    );
    const told = await runCalls(calls, {
      setUp: `import http from 'node:http';
      import axios from 'axios';
      import got from 'got';
      import superagent from 'superagent';`,
      env: { MILLRACE_DEADLINE_TOTAL: '400ms' },
    });
    assert.deepEqual(told, Object.fromEntries(Object.keys(ways).map((name) => [name, 'total'])));
  },
);
