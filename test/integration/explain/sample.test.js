// The look at single responses before any load.
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import http2 from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withSingleUrl } from '#internal/explain/target/load-variants.js';
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

describe('the version of HTTP', () => {
  /** The request that each server saw last, as `version method path`. */
  const seen = [];
  const answer = (request, response) => {
    seen.push(`${request.httpVersion} ${request.method} ${request.url}`);
    response.writeHead(request.url === '/here' ? 200 : 404, { 'x-own': 'a' });
    response.end('x');
  };
  const SERVERS = {
    h2c: () => http2.createServer(answer),
    h2: (own) => http2.createSecureServer(own, answer),
    both: (own) => http2.createSecureServer({ ...own, allowHTTP1: true }, answer),
    https: (own) => createTlsServer(own, answer),
    http: () => createServer(answer),
  };
  const servers = {};
  const urls = {};
  let ca;
  before(async () => {
    const { cert, key } = await selfSignedCertificate(['localhost']);
    ca = cert;
    for (const [name, create] of Object.entries(SERVERS)) {
      const server = create({ cert, key }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers[name] = server;
      const scheme = ['h2c', 'http'].includes(name) ? 'http://127.0.0.1' : 'https://localhost';
      urls[name] = `${scheme}:${server.address().port}/here`;
    }
  });
  after(() => {
    for (const server of Object.values(servers)) server.close();
  });

  for (const [options, name, version] of [
    [{ h2c: true }, 'h2c', '2.0'],
    [{ http2: true }, 'h2', '2.0'],
    [{ http2: true }, 'both', '2.0'],
    [{ preferHttp2: true }, 'both', '2.0'],
    [{ preferHttp2: true }, 'h2', '2.0'],
    [{ preferHttp2: true }, 'https', '1.1'],
    [{}, 'both', '1.1'],
    [{ h2c: true }, 'http', null],
    [{ http2: true }, 'https', null],
    [{}, 'h2', null],
    [{}, 'h2c', null],
  ]) {
    const asked = Object.keys(options)[0] ?? 'no option';
    test(`with ${asked} of a server of ${name} is ${version ?? 'none that it speaks'}`, async () => {
      seen.length = 0;
      const secured = urls[name].startsWith('https:') ? { ca } : {};
      const load = { url: urls[name], ...options, ...secured };
      const { sample, unknownPath } = await takeRequestSample(load, never);
      assert.deepEqual(seen.slice(0, 2), version ? Array(2).fill(`${version} GET /here`) : []);
      if (version === null) return assert.equal(sample, null);
      assert.deepEqual([sample.status, sample.bodyBytes, sample.headers['x-own']], [200, 1, 'a']);
      assert.match(unknownPath, /no-such-path-/);
      assert.equal(seen[2]?.split(' ')[0], version);
    });
  }

  test('of a stream that the server resets is no response', async (t) => {
    const server = http2.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    let resets = 0;
    server.on('stream', (stream) => {
      stream.on('error', () => {});
      stream.respond({ ':status': 200 });
      stream.write('a part', () => stream.destroy(new Error('no more')));
      resets += 1;
    });
    const url = `http://127.0.0.1:${server.address().port}/`;
    assert.equal((await takeRequestSample({ url, h2c: true }, never)).sample, null);
    assert.ok(resets > 0);
  });

  test('stays where the load becomes one of a single URL, as far as it is for its scheme', () => {
    const load = { h2c: true, preferHttp2: true, window: '64k', connections: 2 };
    assert.deepEqual(withSingleUrl('http://h/', load), {
      ...{ url: 'http://h/', method: 'GET', connections: 2 },
      ...{ h2c: true, window: '64k' },
    });
    const { h2c, http2: alone = false, preferHttp2 } = withSingleUrl('https://h/', load);
    assert.deepEqual([h2c, alone, preferHttp2], [undefined, false, true]);
    const http1 = withSingleUrl('https://h/', { h2c: true, window: '64k' });
    assert.deepEqual(http1, { url: 'https://h/', method: 'GET' });
  });
});
