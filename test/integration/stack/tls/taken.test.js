// TLS connections that an application has taken over without a listener for 'error': they fail alone, as on plain Node, where
// TLS has a listener of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { createServer } from 'millrace/https';
import { selfSignedCertificate } from '#internal/native/addon.js';

const { key, cert } = await selfSignedCertificate(['localhost']);
const requests = {
  upgrade: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n',
  connect: 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n',
};

/** @type {tls.SecureVersion[]} */
const VERSIONS = ['TLSv1.2', 'TLSv1.3'];

/** A record of application data that no key has sealed. */
const FORGED = Buffer.from([23, 3, 3, 0, 32, ...Buffer.alloc(32, 9)]);

/** How a taken connection fails. */
const failures = {
  'its client resets it': ({ transport }) => transport.resetAndDestroy(),
  'a record is forged': ({ transport }) => transport.write(FORGED),
  'the application destroys it with an error': ({ socket }) => socket.destroy(new Error('mine')),
};

/**
 * Takes a connection, lets it fail, and waits until it is closed.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} event
 * @param {tls.SecureVersion} version
 * @param {string} failure
 */
async function fail(t, event, version, failure) {
  const server = createServer({ key, cert });
  const taken = once(server, event);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const transport = net.connect(server.address().port, '127.0.0.1');
  const client = tls.connect({
    socket: transport,
    rejectUnauthorized: false,
    minVersion: version,
    maxVersion: version,
  });
  t.after(() => {
    transport.destroy();
    client.destroy();
    server.close();
  });
  for (const side of [transport, client]) side.on('error', () => {});
  client.write(requests[event]);
  const [, socket] = await taken;
  assert.equal(socket.listenerCount('error'), 1);
  assert.equal(server.stats().connections.fallback, 1);
  // An error without a listener would fail the test.
  const closed = new Promise((resolve) => {
    socket.resume().on('close', resolve);
  });
  failures[failure]({ transport, socket });
  assert.equal(await closed, true);
}

for (const event of Object.keys(requests)) {
  for (const version of VERSIONS) {
    for (const failure of Object.keys(failures)) {
      test(
        `${version}: a socket of '${event}' that nobody listens to is closed when ${failure}`,
        {
          timeout: 10_000,
        },
        (t) => fail(t, event, version, failure),
      );
    }
  }
}
