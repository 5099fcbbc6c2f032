// Certificates and keys in the forms in which people have them, and servers whose certificates are old or weak.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from 'millrace';

const folder = mkdtempSync(join(tmpdir(), 'millrace-identity-'));
after(() => rmSync(folder, { recursive: true }));
const cliPath = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const path = (name) => join(folder, name);
const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

function selfSigned(name, ...kind) {
  const more = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
  openssl(
    'req',
    '-x509',
    '-nodes',
    '-days',
    '30',
    '-subj',
    `/CN=${name}`,
    ...kind,
    ...files,
    ...more,
  );
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

async function serve(t, options) {
  const server = https.createServer(options, (_request, response) => response.end('x'));
  t.after(() => server.close());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${server.address().port}/`;
}

const few = { connections: 1, requests: 2, duration: '10s' };

describe('a client certificate', { timeout: 60_000 }, () => {
  before(() => {
    selfSigned('server', ...EC);
    selfSigned('client', ...EC);
    const cert = readFileSync(path('client.pem'));
    const key = createPrivateKey(readFileSync(path('client.key')));
    const locked = { cipher: 'aes-256-cbc', passphrase: 'secret' };
    const files = {
      'client.der': new X509Certificate(cert).raw,
      'pkcs8.der': key.export({ type: 'pkcs8', format: 'der' }),
      'sec1.der': key.export({ type: 'sec1', format: 'der' }),
      'locked.der': key.export({ type: 'pkcs8', format: 'der', ...locked }),
      'locked.pem': key.export({ type: 'pkcs8', format: 'pem', ...locked }),
      'locked-sec1.pem': key.export({ type: 'sec1', format: 'pem', ...locked }),
      'both.pem': Buffer.concat([
        readFileSync(path('server.pem')),
        cert,
        readFileSync(path('client.key')),
      ]),
      'marked.pem': `\uFEFF${cert}`,
      'wide.pem': Buffer.from(`\uFEFF${cert}`, 'utf16le'),
      'store.jks': Buffer.from('feedfeed00000002', 'hex'),
      'openssh.key':
        '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
      'chain.p7b': '-----BEGIN PKCS7-----\nAAAA\n-----END PKCS7-----\n',
      empty: '',
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(path(name), content);
    selfSigned('weak-client', '-newkey', 'rsa:1024');
    openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'named.key');
    openssl('ec', '-in', 'named.key', '-param_enc', 'explicit', '-out', 'spelled.key');
    for (const name of ['named', 'spelled']) {
      openssl('req', '-x509', '-key', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`);
    }
    openssl('req', '-new', '-key', 'client.key', '-subj', '/CN=old', '-out', 'old.csr');
    openssl('x509', '-req', '-in', 'old.csr', '-signkey', 'client.key', '-out', 'version1.pem');
    const trusted = ['-nokeys', '-in', 'server.pem', '-passout', 'pass:secret'];
    openssl('pkcs12', '-export', ...trusted, '-out', 'trust.p12');
    const input = ['-inkey', 'client.key', '-in', 'client.pem'];
    const pkcs12 = (out, ...more) => openssl('pkcs12', '-export', ...input, '-out', out, ...more);
    pkcs12('new.p12', '-passout', 'pass:secret');
    pkcs12('open.p12', '-passout', 'pass:');
    writeFileSync(path('damaged.p12'), readFileSync(path('open.p12')).subarray(0, -1));
    pkcs12('chain.p12', '-certfile', 'server.pem', '-passout', 'pass:');
    const old = ['-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1'];
    pkcs12('old.p12', ...old, '-passout', 'pass:secret');
  });

  async function serverFor(t) {
    const [key, cert, ca] = ['server.key', 'server.pem', 'client.pem'].map((name) =>
      readFileSync(path(name)),
    );
    return serve(t, { key, cert, ca, requestCert: true, rejectUnauthorized: true });
  }

  for (const { cert, key, passphrase, ca = 'server.pem' } of [
    { cert: 'client.pem', key: 'client.key' },
    { cert: 'client.der', key: 'pkcs8.der' },
    { cert: 'client.pem', key: 'sec1.der' },
    { cert: 'client.pem', key: 'locked.der', passphrase: 'secret' },
    { cert: 'client.pem', key: 'locked.pem', passphrase: 'secret' },
    { cert: 'client.pem', key: 'locked-sec1.pem', passphrase: 'secret' },
    { cert: 'new.p12', passphrase: 'secret' },
    { cert: 'old.p12', passphrase: 'secret' },
    { cert: 'open.p12' },
    { cert: 'chain.p12' },
    { cert: 'both.pem' },
    { cert: 'marked.pem', key: 'client.key' },
    { cert: 'wide.pem', key: 'client.key' },
  ]) {
    const names = { ca, cert, ...(key && { key }) };
    const options = {
      files: (option, name) => [`${option}File`, path(name)],
      bytes: (option, name) => [option, readFileSync(path(name))],
    };
    for (const source of ['files', 'bytes']) {
      test(`a client certificate is read from ${source}: ${[cert, key].filter(Boolean).join(' and ')}`, async (t) => {
        const entries = Object.entries(names).map((entry) => options[source](...entry));
        const identity = { ...Object.fromEntries(entries), ...(passphrase && { passphrase }) };
        const result = await load({ url: await serverFor(t), ...identity, ...few });
        assert.equal(result.requests.ok, 2);
      });
    }
  }

  for (const [{ cert = 'client.pem', key = 'client.key', ...more }, message] of [
    [{ key: 'locked.pem' }, /locked.pem' is encrypted: give its passphrase with --passphrase/],
    [{ key: 'locked.der' }, /locked.der' is encrypted/],
    [{ key: 'locked.pem', passphrase: 'wrong' }, /the passphrase is wrong/],
    [{ cert: 'new.p12', key: null }, /new.p12' is encrypted/],
    [{ cert: 'new.p12', key: null, passphrase: 'wrong' }, /the passphrase is wrong/],
    [
      { cert: 'damaged.p12', key: null },
      /damaged.p12' cannot be opened: it is truncated or damaged/,
    ],
    [{ key: 'server.key' }, /server.key' does not belong to the certificate in/],
    [{ key: null }, /cert needs key: .*, unless cert contains both/],
    [{ cert: 'client.key' }, /client.key' contains no certificate/],
    [{ key: 'openssh.key' }, /OpenSSH's own form; convert a copy with ssh-keygen/],
    [{ cert: 'store.jks' }, /Java key store; convert it with keytool/],
    [{ cert: 'chain.p7b' }, /PKCS #7; convert it with openssl/],
    [{ cert: 'empty' }, /empty' is empty/],
    [
      { cert: 'weak-client.pem', key: 'weak-client.key' },
      /weak-client.key' contains an RSA key of 1024 bits; use RSA from 2048/,
    ],
    [
      { cert: 'version1.pem' },
      /version1.pem' contains a certificate of X.509 version 1; use version 3/,
    ],
    [{ cert: 'spelled.pem', key: 'spelled.key' }, /explicit curve parameters; use a named/],
    [{ key: null, cert: null, caFile: path('trust.p12') }, /trust.p12' is encrypted/],
    [
      { key: null, cert: null, caFile: path('trust.p12'), passphrase: 'no' },
      /the passphrase is wrong/,
    ],
  ]) {
    test(`unusable files are refused: ${message.source}`, async () => {
      const files = {
        ...(cert && { certFile: path(cert) }),
        ...(key && { keyFile: path(key) }),
        ...more,
      };
      const run = load({ url: 'https://127.0.0.1:1/', ...files });
      await assert.rejects(run, (error) => {
        assert.equal(error.code, 'ERR_MILLRACE_USAGE');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
    });
  }

  test('ca, cert and key are text or lists, and a key in a list has its own passphrase', async (t) => {
    const [server, client, key, locked, stranger] = [
      'server.pem',
      'client.pem',
      'client.key',
      'locked.pem',
      'weak-client.key',
    ].map((name) => readFileSync(path(name), 'utf8'));
    const url = await serverFor(t);
    for (const identity of [
      { ca: server, cert: client, key },
      {
        ca: [client, Buffer.from(server)],
        cert: [server, Buffer.from(client)],
        key: [stranger, key],
      },
      { ca: server, cert: [client, key] },
      { ca: server, cert: client, key: [{ pem: locked, passphrase: 'secret' }] },
    ]) {
      assert.equal((await load({ url, ...identity, ...few })).requests.ok, 2);
    }
  });

  test('unusable contents are refused in one line that names the option and contains no key', async () => {
    const read = (name) => readFileSync(path(name), 'utf8');
    const [cert, key] = [read('client.pem'), read('client.key')];
    for (const [options, message] of [
      [{ ca: key }, /^ca contains no certificate$/],
      [
        { ca: [cert, Buffer.from('x')] },
        /^ca\[1\] is not a certificate or key in a known format; /,
      ],
      [{ cert }, /^cert needs key: .*, unless cert contains both$/],
      [{ key }, /^key needs cert: /],
      [{ cert, key: cert }, /^key contains no private key$/],
      [{ cert, key: read('locked.pem') }, /^key is encrypted: /],
      [{ cert, key: read('server.key') }, /^key does not belong to the certificate in cert$/],
    ]) {
      await assert.rejects(load({ url: 'https://127.0.0.1:1/', ...options }), (error) => {
        assert.equal(error.code, 'ERR_MILLRACE_USAGE');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n|PRIVATE KEY/);
        return true;
      });
    }
  });

  const noTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status !== 0;
  test('the passphrase is requested at a terminal and not shown', {
    skip: noTerminal,
  }, async (t) => {
    const files = [
      '--cert',
      path('client.pem'),
      '--key',
      path('locked.pem'),
      '--ca',
      path('server.pem'),
    ];
    const words = [process.execPath, cliPath, '-n', '2', '-c', '1', ...files, await serverFor(t)];
    const child = spawn('script', ['-qec', words.join(' '), '/dev/null']);
    let shown = '';
    child.stdout.on('data', (text) => {
      shown += text;
      if (/Passphrase of \S+: $/.test(shown)) child.stdin.write('secret\n');
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, shown);
    assert.doesNotMatch(shown, /secret/);
  });

  test('without a controlling terminal the message names the file that needs a passphrase', {
    skip: noTerminal || spawnSync('setsid', ['true']).status !== 0,
  }, async () => {
    const files = ['--cert', path('client.pem'), '--key', path('locked.pem')];
    const words = ['setsid', '-w', process.execPath, cliPath, ...files, 'https://127.0.0.1:1/'];
    const { stdout, status } = spawnSync('script', ['-qec', words.join(' '), '/dev/null']);
    assert.match(String(stdout), /millrace: key file '.*' is encrypted: give its passphrase with /);
    assert.equal(status, 2);
  });

  test('a key with explicit curve parameters fits a certificate that names the curve', async (t) => {
    const [key, cert] = ['server.key', 'server.pem'].map((name) => readFileSync(path(name)));
    const url = await serve(t, { key, cert, requestCert: true, rejectUnauthorized: false });
    const files = { certFile: path('named.pem'), keyFile: path('spelled.key') };
    assert.equal((await load({ url, insecure: true, ...files, ...few })).requests.ok, 2);
  });

  test('authorities are read from PKCS #12 with a passphrase', async (t) => {
    const [key, cert] = ['server.key', 'server.pem'].map((name) => readFileSync(path(name)));
    const url = await serve(t, { key, cert });
    const trust = { caFile: path('trust.p12'), passphrase: 'secret' };
    assert.equal((await load({ url, ...trust, ...few })).requests.ok, 2);
  });

  test('authorities are read from DER', async (t) => {
    const url = await serve(t, {
      key: readFileSync(path('server.key')),
      cert: readFileSync(path('server.pem')),
    });
    writeFileSync(path('server.der'), new X509Certificate(readFileSync(path('server.pem'))).raw);
    assert.equal((await load({ url, caFile: path('server.der'), ...few })).requests.ok, 2);
  });
});

describe('a server with an old or weak certificate that is not verified', {
  timeout: 60_000,
}, () => {
  before(() => {
    openssl('req', ...EC, '-nodes', '-keyout', 'one.key', '-subj', '/CN=one', '-out', 'one.csr');
    openssl(
      'x509',
      '-req',
      '-in',
      'one.csr',
      '-signkey',
      'one.key',
      '-days',
      '30',
      '-out',
      'one.pem',
    );
    selfSigned('weak', '-newkey', 'rsa:1024');
  });

  for (const name of ['one', 'weak']) {
    for (const version of ['TLSv1.2', 'TLSv1.3']) {
      test(`a certificate is accepted: ${name === 'one' ? 'X.509 version 1' : 'RSA of 1024 bits'}, ${version}`, async (t) => {
        const url = await serve(t, {
          key: readFileSync(path(`${name}.key`)),
          cert: readFileSync(path(`${name}.pem`)),
          ciphers: 'DEFAULT@SECLEVEL=0',
          minVersion: version,
          maxVersion: version,
        });
        assert.equal((await load({ url, insecure: true, ...few })).requests.ok, 2);
      });
    }
  }
});
