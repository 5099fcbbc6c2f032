// h2spec, a conformance suite for servers of HTTP/2, in strict mode, over TLS and with prior knowledge. `bench/install.sh` installs
// it; without it these tests are skipped.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import ownHttps from '#internal/http/https.js';
import http from '#internal/http/index.js';
import { made } from '../fixtures/tls/https-server.js';

/** What a port that speaks HTTP/1.1, too, answers 400: h2spec wants no answer to what is not the preface. */
const NOT_OF_PRIOR_KNOWLEDGE = 'Sends invalid connection preface';
const CASES = 140;

const skip = spawnSync('h2spec', ['--version']).error !== undefined && 'h2spec is not installed';

/** Answers when the request has ended: h2spec looks at errors in what follows a head. */
function answer(request, response) {
  request.resume().on('end', () => response.end('x'.repeat(20)));
}

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

async function listen(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return server.address().port;
}

test('h2spec over TLS: every case passes', { skip }, async (t) => {
  const port = await listen(t, ownHttps.createServer({ ...made.server, http2: true }, answer));
  const { failed, cases } = await h2spec(port, ['--tls', '--insecure']);
  assert.deepEqual(failed, []);
  assert.ok(cases >= CASES, `${cases} cases`);
});

test('h2spec with prior knowledge: every case passes but one', { skip }, async (t) => {
  const port = await listen(t, http.createServer({ http2: true }, answer));
  const { failed, cases } = await h2spec(port, []);
  assert.deepEqual(failed, [NOT_OF_PRIOR_KNOWLEDGE]);
  assert.ok(cases >= CASES, `${cases} cases`);
});
