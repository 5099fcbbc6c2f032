// h2spec, a conformance suite for servers of HTTP/2, in strict mode, on every kind of server that speaks it. `bench/install.sh`
// installs it; without it these tests are skipped.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { test } from 'node:test';
import { made } from '../fixtures/tls/https-server.js';

process.env.MILLRACE_HTTP2 = 'on';
// It reads the variable.
await import('#internal/http/register.js');

/** What a port that speaks HTTP/1.1, too, answers 400: h2spec wants no answer to what is not the preface. */
const NOT_BESIDE_HTTP1 = 'Sends invalid connection preface';
const CASES = 140;
const TLS = ['--tls', '--insecure'];

const skip = spawnSync('h2spec', ['--version']).error !== undefined && 'h2spec is not installed';

/** Answers when the request has ended: h2spec looks at errors in what follows a head. */
function answer(request, response) {
  request.resume().on('end', () => response.end('x'.repeat(20)));
}

/** By name: how a server is made, the flags of h2spec, and the cases that fail. */
const SERVERS = {
  'https.createServer': [() => https.createServer(made.server, answer), TLS, []],
  'http.createServer, with prior knowledge': [
    () => http.createServer(answer),
    [],
    [NOT_BESIDE_HTTP1],
  ],
  'http2.createSecureServer': [() => http2.createSecureServer(made.server, answer), TLS, []],
  'http2.createServer': [() => http2.createServer(answer), [], []],
};

/** The cases that fail, and how many there are. */
function h2spec(port, flags) {
  const args = ['--strict', '--host', '127.0.0.1', '--port', `${port}`, '--timeout', '2', ...flags];
  return new Promise((resolve) => {
    execFile('h2spec', args, { maxBuffer: 2 ** 24 }, (_, stdout) => {
      const failed = [...stdout.matchAll(/× \d+: (.*)/g)].map(([, name]) => name);
      const [, cases] = /(\d+) tests/.exec(stdout) ?? [];
      // A list at the end names them again.
      resolve({ failed: [...new Set(failed)], cases: Number(cases) });
    });
  });
}

for (const [name, [create, flags, failing]] of Object.entries(SERVERS)) {
  const which = failing.length === 0 ? 'every case passes' : 'every case passes but one';
  test(`h2spec on ${name}: ${which}`, { skip }, async (t) => {
    const server = create();
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { failed, cases } = await h2spec(server.address().port, flags);
    assert.deepEqual(failed, failing);
    assert.ok(cases >= CASES, `${cases} cases`);
    const { connections } = server.stats();
    // Node's own parser refuses what is no preface.
    assert.equal(connections.fallback, failing.length);
    assert.ok(connections.native >= CASES, `${connections.native} connections`);
  });
}
