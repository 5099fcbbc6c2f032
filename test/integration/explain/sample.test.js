// The look at single responses before any load.
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { takeRequestSample } from '#internal/explain/target/sample-request.js';
import { selfSignedCertificate } from '#internal/native/addon.js';

/** Runs a server for the time of `use`. */
async function serving(answer, use) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${server.address().port}`, server);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const never = new AbortController().signal;

test('a path that does not exist is used if the server distinguishes it', async () => {
  const answer = ({ url }, response) => response.writeHead(url === '/here' ? 200 : 404).end('x');
  await serving(answer, async (origin) => {
    const { sample, unknownPath } = await takeRequestSample({ url: `${origin}/here` }, never);
    assert.equal(sample.status, 200);
    assert.match(unknownPath, new RegExp(`^${origin}/no-such-path-`));
    assert.equal((await takeRequestSample({ url: `${origin}/nowhere` }, never)).unknownPath, null);
  });
});

test('a server that answers every path alike has no such path', async () => {
  await serving(
    (_, response) => response.end('x'),
    async (origin) => {
      assert.equal((await takeRequestSample({ url: origin }, never)).unknownPath, null);
    },
  );
});

test('a target has its own method, fields and content', async () => {
  const seen = [];
  const answer = async (request, response) => {
    const content = Buffer.concat(await request.toArray()).toString();
    seen.push([request.method, request.headers['x-own'], content].join());
    response.end();
  };
  await serving(answer, async (origin) => {
    const target = { url: `${origin}/x`, method: 'PUT', headers: { 'x-own': 'a' }, body: 'given' };
    await takeRequestSample({ targets: [target] }, never);
    assert.equal(seen[0], 'PUT,a,given');
  });
});

test('a stream without an end is left after enough bytes', async () => {
  const abort = new AbortController();
  const answer = (_, response) => {
    response.write('data: 1\n\n');
    abort.abort();
  };
  await serving(answer, async (origin) => {
    const { sample, durationMs } = await takeRequestSample({ url: origin }, abort.signal);
    assert.equal(sample, null);
    assert.equal(durationMs, null);
  });
});

test('an invalid certificate is refused in one line', async () => {
  const certFile = fileURLToPath(import.meta.url);
  const load = { url: 'https://localhost:1/', certFile, keyFile: certFile };
  await assert.rejects(takeRequestSample(load, never), {
    message: /is not a certificate or key in a known format/,
  });
});

test('the certificate and the key are read as the load reads them', async () => {
  const { cert, key } = await selfSignedCertificate(['localhost']);
  const secured = { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true };
  const server = createTlsServer(secured, (_, response) => response.end('x')).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const locked = { type: 'pkcs8', format: 'der', cipher: 'aes-256-cbc', passphrase: 'secret' };
  const der = new X509Certificate(cert).raw;
  const identity = { ca: der, cert: der, key: createPrivateKey(key).export(locked) };
  const url = `https://localhost:${server.address().port}/`;
  try {
    const { sample } = await takeRequestSample({ url, ...identity, passphrase: 'secret' }, never);
    assert.equal(sample?.status, 200);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
