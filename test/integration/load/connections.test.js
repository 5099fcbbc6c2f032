// Where connections go and how they are secured: addresses, TLS modes, certificates and names.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { assertAllReceived, assertSeenByServer } from '../../fixtures/truth/accounting.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';
import { forkedTruthServer } from '../../fixtures/truth/fork.js';
import { ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 20_000 };
const folder = mkdtempSync(join(tmpdir(), 'millrace-connections-'));
after(() => rmSync(folder, { recursive: true }));

function file(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Loads a server with 40 requests that must all succeed. */
async function assertWorks(server, options) {
  const result = await load({ url: server.url, connections: 4, requests: 40, ...options });
  await server.settled(result.connections.opened);
  assertSeenByServer(result, server);
  assertAllReceived(result, server);
  assert.equal(result.requests.ok, 40);
  return result;
}

describe('addresses of a server', TIMEOUT, () => {
  test('an IPv4 address is loaded', async (t) => {
    const server = await truthServer(t, ok());
    const result = await assertWorks(server);
    assert.deepEqual(result.plan.addresses, [`127.0.0.1:${server.port}`]);
    assert.equal(result.connectMs.count, 4);
    assert.equal(result.tlsMs.count, 0);
  });

  test('an IPv6 address is loaded', async (t) => {
    const server = await truthServer(t, ok(), { listen: { port: 0, host: '::1' } });
    const result = await assertWorks(server);
    assert.deepEqual(result.plan.addresses, [`[::1]:${server.port}`]);
    assert.equal(server.requests[0].header('host'), `[::1]:${server.port}`);
  });

  test('the address that answers is used if a host has other addresses', async (t) => {
    const server = await truthServer(t, ok());
    const url = `http://mill.test:${server.port}/`;
    const resolve = [`mill.test:${server.port}:127.0.0.9,127.0.0.1`];
    const result = await assertWorks(server, { url, resolve });
    assert.deepEqual(result.plan.addresses, [`127.0.0.1:${server.port}`]);
    assert.equal(server.requests[0].header('host'), `mill.test:${server.port}`);
    const redirected = ['--connect-to', `::127.0.0.1:${server.port}`, 'http://other.test/'];
    const { code } = await millrace(['-n', '1', '-c', '1', ...redirected]);
    assert.equal(code, 0);
    assert.equal(server.requests.at(-1).header('host'), 'other.test');
  });

  test('a Unix socket is loaded', async (t) => {
    const path = join(folder, 'a.sock');
    const server = await truthServer(t, ok(), { listen: { path } });
    await assertWorks(server, { url: `unix:${path}:/a?b` });
    assert.equal(server.requests[0].target, '/a?b');
  });

  test('a Unix socket is loaded instead of the host of the URL', async (t) => {
    const socketPath = join(folder, 'b.sock');
    const server = await truthServer(t, ok(), { listen: { path: socketPath } });
    await assertWorks(server, { url: 'http://example.test:81/a', socketPath });
    assert.equal(server.requests[0].header('host'), 'example.test:81');
  });

  test('a Unix socket is loaded with a connection for each request', async (t) => {
    const path = join(folder, 'c.sock');
    const server = await truthServer(t, ok(), { listen: { path } });
    await assertWorks(server, { url: `unix:${path}:/`, connection: 'close', threads: 2 });
  });

  test('localhost is loaded, whatever it resolves to', async (t) => {
    const server = await truthServer(t, ok());
    const result = await assertWorks(server, { url: `http://localhost:${server.port}/` });
    assert.ok(result.plan.addresses.includes(`127.0.0.1:${server.port}`));
    assert.equal(server.requests[0].header('host'), `localhost:${server.port}`);
  });
});

describe('sockets of ended connections', { ...TIMEOUT, skip: process.platform !== 'linux' }, () => {
  /** Sockets of this process. */
  function sockets() {
    const isSocket = (fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
      } catch {
        return false;
      }
    };
    return readdirSync('/proc/self/fd').filter(isSocket).length;
  }

  /** Loads a server that closes after each response: how many sockets there were, ten times a second. */
  async function socketsDuring(t, options, serverOptions) {
    const server = await forkedTruthServer(t, 'okAndEnd', [], serverOptions);
    const before = sockets();
    const run = load({ url: server.url, connection: 'close', duration: 600, ...options });
    const counts = [];
    for await (const { phase } of run) if (phase === 'measure') counts.push(sockets() - before);
    const { requests } = await run;
    assert.ok(requests.ok > 50, `${requests.ok} requests`);
    assert.equal(requests.sent, requests.ok + requests.inFlightAtEnd);
    return counts;
  }

  test('at most one socket is kept in addition to the present one', async (t) => {
    const most = Math.max(...(await socketsDuring(t, { connections: 30 })));
    assert.ok(most <= 60, `${most} sockets`);
  });

  test('no socket is kept of a Unix socket', async (t) => {
    const listen = { path: join(folder, 'ended.sock') };
    const most = Math.max(...(await socketsDuring(t, { connections: 30 }, { listen })));
    assert.ok(most <= 30, `${most} sockets`);
  });

  test('no socket is kept that the server has closed while no connection is needed', async (t) => {
    const tls = await selfSignedCertificate(['127.0.0.1']);
    // Few at once need one, also where a handshake takes long on a busy machine.
    const options = { connections: 20, rate: 60, duration: 1200, insecure: true };
    const counts = (await socketsDuring(t, options, { tls })).sort((a, b) => a - b);
    const median = counts[counts.length >> 1];
    // All 20 would be there if they were kept.
    assert.ok(median <= 10, `${median} sockets`);
  });
});

describe('a name with several addresses', { ...TIMEOUT, skip: !canNameHosts() }, () => {
  // In a mount namespace of its own, with its own /etc/hosts.
  const hosts = '127.0.0.2 mill.test\n127.0.0.3 mill.test\n127.0.0.4 mill.test\n';
  const via = namingHosts(`${hosts}::1 both.test\n127.0.0.1 both.test\n`);

  test('all addresses of a name are loaded in turn', async (t) => {
    const listen = { port: 0, host: '127.0.0.2' };
    const first = await truthServer(t, ok(), { listen });
    const rest = ['127.0.0.3', '127.0.0.4'].map((host) => ({ port: first.port, host }));
    const servers = [first];
    for (const listen of rest) servers.push(await truthServer(t, ok(), { listen }));
    const url = `http://mill.test:${first.port}/`;
    const { result } = await millraceJson(['-c', '6', '-n', '60', url], { via });
    assert.deepEqual(
      servers.map(({ connections }) => connections.length),
      [2, 2, 2],
    );
    assert.equal(result.requests.ok, 60);
    assert.deepEqual(
      result.plan.addresses,
      [2, 3, 4].map((n) => `127.0.0.${n}:${first.port}`),
    );
  });

  for (const host of ['127.0.0.1', '::1']) {
    test(`the answering address is loaded if only ${host} listens`, async (t) => {
      const server = await truthServer(t, ok(), { listen: { port: 0, host } });
      const url = `http://both.test:${server.port}/`;
      const { code, result } = await millraceJson(['-c', '5', '-n', '50', url], { via });
      await server.settled(result.connections.opened);
      assert.equal(code, 0);
      assert.equal(result.requests.ok, 50);
      assert.deepEqual(result.errors, [], 'an address that is left out is no error');
      assert.equal(server.connections.length, 5);
      assert.equal(result.plan.addresses.length, 1);
      assert.ok(result.warnings.some(({ id }) => id === 'addresses-left-out'));
    });
  }
});

function namingHosts(hosts) {
  const script = `mount --bind ${file('hosts', hosts)} /etc/hosts; exec "$@"`;
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', script, 'sh'];
}

/** Whether this system lets a user have a mount namespace. */
function canNameHosts() {
  try {
    const [command, ...args] = namingHosts('127.0.0.1 localhost\n');
    execFileSync(command, [...args, 'grep', 'localhost', '/etc/hosts'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('connections over TLS', TIMEOUT, async () => {
  const identity = await selfSignedCertificate(['127.0.0.1', 'localhost']);
  const secure = { insecure: true };

  test('keep-alive does one full handshake per connection', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const { connections, tlsMs, connectMs, plan } = await assertWorks(server, secure);
    assert.deepEqual(connections, {
      ...{ opened: 4, reused: 36, tlsFull: 4, tlsResumed: 0 },
      ...{ failed: 0, broken: 0, closedByServer: 0, unansweredOnReuse: 0 },
      ...{ http1: 4, http2: 0, goaway: 0, maxConcurrentStreams: null },
    });
    assert.equal(tlsMs.count, 4);
    assert.equal(connectMs.count, 4);
    assert.ok(tlsMs.min > 0);
    assert.deepEqual([plan.connection, plan.handshake], ['keep-alive', 'full']);
    assert.ok(server.sessions.every(({ alpn, resumed }) => alpn === 'http/1.1' && !resumed));
  });

  test('full does one full handshake per request', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const { connections, tlsMs } = await assertWorks(server, {
      ...secure,
      connection: 'close',
      handshake: 'full',
    });
    assert.equal(connections.tlsFull, connections.opened);
    assert.equal(connections.tlsResumed, 0);
    assert.equal(connections.reused, 0);
    assert.equal(tlsMs.count, connections.opened);
    assert.ok(connections.opened >= 40);
    assert.ok(server.sessions.every(({ resumed }) => !resumed));
  });

  // A ticket of TLS 1.3 is used once (RFC 8446, C.4). Node's server gives two after a full handshake and none after a
  // resumed one, so every third is a full one.
  for (const [version, least] of [
    ['TLSv1.2', 36],
    ['TLSv1.3', 24],
  ]) {
    test(`resume does one resumed handshake per request over ${version}`, async (t) => {
      const tls = { ...identity, minVersion: version, maxVersion: version };
      const server = await truthServer(t, ok(), { tls });
      const { connections } = await assertWorks(server, {
        ...secure,
        connection: 'close',
        handshake: 'resume',
      });
      const resumed = server.sessions.filter((session) => session.resumed).length;
      assert.equal(connections.tlsResumed, resumed);
      assert.equal(connections.tlsFull, server.sessions.length - resumed);
      assert.ok(resumed >= least, `${resumed} of ${server.sessions.length} resumed`);
      assert.ok(server.sessions.every(({ protocol }) => protocol === version));
    });
  }

  test('no response is missed over many handshakes', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const resumed = { connection: 'close', handshake: 'resume' };
    const options = { ...secure, ...resumed, connections: 8, requests: 2000, timeout: 1000 };
    const result = await load({ url: server.url, ...options });
    await server.settled(result.connections.opened);
    assert.equal(result.requests.timeouts, 0);
    assert.equal(result.requests.ok, 2000);
  });

  test('connection close means a full handshake per request', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const result = await assertWorks(server, { ...secure, connection: 'close' });
    assert.equal(result.plan.handshake, 'full');
    assert.equal(result.connections.tlsFull, result.connections.opened);
  });

  test('a certificate of a private authority is accepted', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const caFile = file('ca.pem', identity.cert);
    const result = await assertWorks(server, { caFile });
    assert.equal(result.plan.verifyCertificate, true);
    assert.equal(server.sessions.length, 4);
  });

  test('an unverified certificate is reported', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const { code, stdout } = await millrace(['-k', '-n', '10', '-c', '1', server.url]);
    assert.equal(code, 0);
    assert.match(stdout, /not verified/);
  });

  test('the handshake names the host of the URL, but not an address', async (t) => {
    const server = await truthServer(t, ok(), { tls: identity });
    const byName = server.url.replace('127.0.0.1', 'localhost');
    await assertWorks(server, { ...secure, url: byName, connections: 1 });
    const byAddress = await truthServer(t, ok(), { tls: identity });
    await assertWorks(byAddress, { ...secure, connections: 1 });
    assert.equal(server.sessions[0].serverName, 'localhost');
    assert.ok(!byAddress.sessions[0].serverName);
  });

  test('--sni names and verifies another host in the handshake', async (t) => {
    const other = await selfSignedCertificate(['mill.test']);
    const ca = other.cert;
    const server = await truthServer(t, ok(), { tls: other });
    await assertWorks(server, { ca, sni: 'mill.test', connections: 1 });
    assert.equal(server.sessions[0].serverName, 'mill.test');
    assert.match(server.requests[0].header('host'), /^127\.0\.0\.1:/);
    await assert.rejects(load({ url: server.url, ca, sni: 'wrong.test', requests: 1 }), {
      code: 'ERR_MILLRACE_UNREACHABLE',
    });
  });

  test('a client certificate is presented', async (t) => {
    const client = await selfSignedCertificate(['client.test']);
    const tls = { ...identity, requestCert: true, rejectUnauthorized: true, ca: client.cert };
    const server = await truthServer(t, ok(), { tls });
    const { cert, key } = client;
    await assertWorks(server, { ...secure, cert, key });
    assert.ok(server.sessions.every((session) => session.client !== null));
  });

  test('a missing client certificate that the server requires is an error', async (t) => {
    const client = await selfSignedCertificate(['client.test']);
    const tls = { ...identity, requestCert: true, rejectUnauthorized: true, ca: client.cert };
    const server = await truthServer(t, ok(), { tls });
    // With TLS 1.3 the server says no after the client's handshake has ended: RFC 8446, 4.4.2.4.
    const { code, result } = await millraceJson([
      '-k',
      '-n',
      '5',
      '-c',
      '1',
      '-T',
      '1s',
      server.url,
    ]);
    assert.equal(code, 3);
    assert.equal(result.requests.ok, 0);
    assert.deepEqual(
      result.errors.map(({ kind }) => kind),
      ['tls'],
    );
    assert.equal(server.requests.length, 0);
  });
});
