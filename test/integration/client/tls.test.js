// Certificates and keys of the client: as Node's options of the same names take them, or from files.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createClient } from 'millrace/client';
import { has } from '../../fixtures/deadlines/peers.js';
import { makeCertificates } from '../../fixtures/tls/certificates.js';

const limits = { timeout: 30_000 };

describe('certificates of the client', { skip: !has('openssl') }, () => {
  const made = has('openssl') ? makeCertificates() : {};
  const folder = mkdtempSync(join(tmpdir(), 'millrace-client-'));
  after(() => rmSync(folder, { recursive: true }));

  function file(name, text) {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Answers with the name in the certificate of the client. */
  async function serve(t) {
    const options = {
      ...made.server,
      ca: made.authority.cert,
      requestCert: true,
      rejectUnauthorized: false,
    };
    const server = https.createServer(options, ({ socket }, response) => {
      response.end(socket.getPeerCertificate().subject?.CN ?? 'nobody');
    });
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `https://localhost:${server.address().port}`;
  }

  async function ask(t, options) {
    const client = createClient({ ...options, retries: false, timeouts: { total: '20s' } });
    t.after(() => client.destroy());
    return (await client.request('/')).text();
  }

  test(
    'ca, cert and key are text, Buffers or lists, and caFile, certFile, keyFile paths',
    limits,
    async (t) => {
      const origin = await serve(t);
      const { authority, client, stranger, locked } = made;
      const { cert, key } = client;
      await assert.rejects(ask(t, { origin }), /certificate/);
      await assert.rejects(ask(t, { origin, ca: stranger.cert }));
      assert.equal(await ask(t, { origin, ca: authority.cert }), 'nobody');
      assert.equal(
        await ask(t, { origin, ca: [stranger.cert, Buffer.from(authority.cert)] }),
        'nobody',
      );
      assert.equal(await ask(t, { origin, ca: authority.cert, cert, key }), 'client');
      const buffers = {
        ca: Buffer.from(authority.cert),
        cert: Buffer.from(cert),
        key: Buffer.from(key),
      };
      assert.equal(await ask(t, { origin, ...buffers }), 'client');
      const unlocked = {
        cert: locked.cert,
        key: [{ pem: locked.key, passphrase: locked.passphrase }],
      };
      assert.equal(await ask(t, { origin, ca: authority.cert, ...unlocked }), 'server');
      const files = {
        caFile: file('ca.pem', authority.cert),
        certFile: file('client.pem', cert),
        keyFile: file('client.key', key),
      };
      assert.equal(await ask(t, { origin, ...files }), 'client');
    },
  );

  test('invalid certificates and keys are one line that names the option', () => {
    const { authority, client, stranger } = made;
    const damaged = client.cert.replace(/\n[^-]/, '\n!');
    const path = file('present.pem', 'no PEM');
    for (const [options, message] of [
      [{ ca: damaged }, /^ca cannot be used: /],
      [{ ca: [authority.cert, damaged] }, /^ca cannot be used: /],
      [{ cert: damaged, key: client.key }, /^cert cannot be used: /],
      [{ cert: client.cert, key: client.cert }, /^key cannot be used: /],
      [{ cert: client.cert, key: stranger.key }, /^key cannot be used: .*mismatch/],
      [{ cert: client.cert }, /^cert needs key: set key or keyFile$/],
      [{ key: client.key }, /^key needs cert: set cert or certFile$/],
      [
        { ca: authority.cert, caFile: path },
        /^ca and caFile cannot be used together: remove one of them$/,
      ],
      [{ caFile: path }, /^caFile cannot be used: /],
      [{ caFile: join(folder, 'absent') }, /^caFile cannot be read: ENOENT.* \(got '.*absent'\)$/],
    ]) {
      assert.throws(
        () => createClient(options),
        (error) => {
          assert.equal(error.code, 'ERR_MILLRACE_USAGE');
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n|PRIVATE KEY/);
          return true;
        },
      );
    }
  });
});
