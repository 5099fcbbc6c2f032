// One port for several processes, over TLS.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createServer } from 'millrace/https';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { stopped, within } from '../../../fixtures/stack/sharing/processes.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const limits = { timeout: 60_000 };
const script = fileURLToPath(
  new URL('../../../fixtures/stack/sharing/https-application.js', import.meta.url),
);
const { authority, server: identity, other, client, underStranger } = makeCertificates();

/** Processes on one port; `start(path, options, host)` gives one when it listens. */
async function makeSharedPort(t) {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-https-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const port = await findFreePort();
  const start = async (path, options = {}, host = '*') => {
    const settings = JSON.stringify({ identity, name: path[1] ?? '-', ...options });
    const child = spawn(process.execPath, [script, `https://${host}:${port}${path}`, settings], {
      env: { ...process.env, MILLRACE_PORTS: directory },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    assert.equal(value, 'listening');
    return child;
  };
  /** Asks on a connection of the agent. */
  const ask = async (path, { agent, body, ...options } = {}) => {
    const method = body === undefined ? 'GET' : 'POST';
    const to = { host: '127.0.0.1', port, path, method, agent, rejectUnauthorized: false };
    to.ALPNProtocols = ['http/1.1'];
    const request = https.request({ servername: 'localhost', ...to, ...options }).end(body);
    const [response] = await once(request, 'response');
    const received = await buffer(response);
    const isJson = received[0] === '{'.charCodeAt(0);
    return { status: response.statusCode, body: received, ...(isJson && JSON.parse(received)) };
  };
  const keepAlive = (options) => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ...options });
    t.after(() => agent.destroy());
    return agent;
  };
  return { port, start, ask, keepAlive };
}

describe('TLS data for another process', () => {
  test('the owners of one connection in turn see its client and its session', limits, async (t) => {
    const { start, ask, keepAlive } = await makeSharedPort(t);
    const [a, b] = [await start('/a/'), await start('/b/')];
    const agent = keepAlive();
    const ports = new Set();
    for (let at = 0; at < 20; at++) {
      const [path, { pid }] = at % 2 === 0 ? [`/a/${at}`, a] : [`/b/${at}`, b];
      const said = await ask(path, { agent, body: 'x'.repeat(at * 10_000) });
      ports.add(said.port);
      const { url, bytes, address, encrypted, servername, alpn, protocol } = said;
      assert.deepEqual(
        { pid: said.pid, url, bytes, address, encrypted, servername, alpn, protocol },
        {
          ...{ pid, url: path, bytes: at * 10_000, address: '::ffff:127.0.0.1', encrypted: true },
          ...{ servername: 'localhost', alpn: 'http/1.1', protocol: 'TLSv1.3' },
        },
      );
    }
    assert.equal(ports.size, 1);
    assert.equal((await ask('/c', { agent })).status, 404);
    const counted = [await ask('/a/', { agent }), await ask('/b/', { agent })];
    assert.deepEqual(
      counted.map(({ moved }) => moved),
      [0, 0],
      'the session has stayed where it was',
    );
    const relayed = counted.map((said) => said.relayed).sort();
    assert.deepEqual(relayed, [0, 1], 'once, by the process that has it');
  });

  test('large responses reach slow clients through another process', limits, async (t) => {
    const { start, ask, port } = await makeSharedPort(t);
    await start('/a/');
    await start('/b/');
    for (let at = 0; at < 4; at++) {
      for (const name of ['a', 'b']) {
        const { body } = await ask(`/${name}/large`);
        assert.ok(body.equals(Buffer.alloc(5_000_000, name)));
      }
    }
    const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    socket.pause();
    for (const name of ['a', 'b', 'a'])
      socket.write(`GET /${name}/large HTTP/1.1\r\nHost: a\r\n\r\n`);
    // Others are not held up by one that reads nothing.
    for (let at = 0; at < 20; at++) assert.equal((await ask('/b/')).status, 200);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
      if (received > 15_000_000) socket.destroy();
    });
    socket.resume();
    await once(socket, 'close');
  });

  test(
    'a client that sends all and ends its side receives its responses and an end',
    limits,
    async (t) => {
      const { start, port } = await makeSharedPort(t);
      await start('/a/');
      await start('/b/');
      for (let at = 0; at < 20; at++) {
        const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const asked = ['a', 'b', 'a'].map((name) => {
          return `POST /${name}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(20_000)}`;
        });
        socket.end(asked.join(''));
        const all = String(await within(5000, () => `the end of ${at}`, buffer(socket)));
        const names = [...all.matchAll(/"name":"(.)".*?"bytes":(\d+)/g)];
        assert.deepEqual(
          names.map(([, name, bytes]) => `${name} ${bytes}`),
          ['a 20000', 'b 20000', 'a 20000'],
        );
      }
    },
  );

  test('the owner is notified if a client goes away', limits, async (t) => {
    const { start, ask, port } = await makeSharedPort(t);
    const first = await start('/a/');
    await start('/b/');
    for (let at = 0; at < 10; at++) {
      const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      const head = `POST /${'ab'[at % 2]}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n`;
      socket.write(`${head}12345`, () => socket.destroy());
    }
    first.kill('SIGKILL');
    await once(first, 'exit');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/b/')));
    assert.ok(answers.every(({ status, name }) => status === 200 && name === 'b'));
    assert.equal((await ask('/a/')).status, 503);
  });
});

describe('client certificates on a shared port', () => {
  const asking = { ca: authority.cert, requestCert: true };

  test(
    'each process verifies a certificate by itself, before anything is answered',
    limits,
    async (t) => {
      const { start, ask, keepAlive } = await makeSharedPort(t);
      // Whoever accepts lets all in; the other lets nobody in without a certificate that it knows.
      await start('/a/', { ...asking, rejectUnauthorized: false });
      const owner = await start('/b/', {
        ...asking,
        rejectUnauthorized: true,
        cache: { duration: 60 },
      });
      const outcomes = { known: new Set(), stranger: new Set(), nobody: new Set() };
      for (let at = 0; at < 20; at++) {
        for (const [who, shown] of [
          ['known', client],
          ['stranger', underStranger],
          ['nobody', {}],
        ]) {
          const agent = keepAlive(shown);
          try {
            // Either has the session then.
            await ask('/a/', { agent });
            const { status, client: name, pid, authorized } = await ask('/b/', { agent });
            outcomes[who].add(`${status} ${name} ${authorized} ${pid === owner.pid}`);
          } catch {
            outcomes[who].add('refused');
          }
        }
      }
      assert.deepEqual([...outcomes.known], ['200 client true true']);
      assert.deepEqual([...outcomes.stranger], ['refused']);
      assert.deepEqual([...outcomes.nobody], ['refused']);
    },
  );

  test(
    'a process that requires certificates does not get a session for which none was requested',
    limits,
    async (t) => {
      const { start, ask } = await makeSharedPort(t);
      const open = await start('/a/');
      await start('/b/', { ...asking, rejectUnauthorized: true });
      const outcomes = new Set();
      for (let at = 0; at < 20; at++) {
        const asked = ask('/b/');
        outcomes.add(
          await asked.then(
            ({ status }) => `${status}`,
            () => 'refused',
          ),
        );
      }
      assert.deepEqual([...outcomes], ['refused']);
      const { pid } = await ask('/a/', { ...client });
      assert.equal(pid, open.pid);
    },
  );
});

describe('hosts with their own certificates', () => {
  for (const hears of [false, true]) {
    const where = hears ? ", where they listen for 'connection'" : '';
    test(`the session belongs to the owner of the host${where}`, limits, async (t) => {
      const { start, port } = await makeSharedPort(t);
      const hosts = { localhost: identity, 'other.example': other };
      for (const [host, identity] of Object.entries(hosts)) {
        const name = host === 'localhost' ? '*' : host;
        await start('/', { identity, name: host, hears }, name);
      }
      for (let at = 0; at < 20; at++) {
        for (const [servername, { cert }] of Object.entries(hosts)) {
          const socket = tls.connect({ host: '127.0.0.1', port, servername, ca: authority.cert });
          await once(socket, 'secureConnect');
          assert.equal(socket.authorizationError, null);
          assert.ok(cert.includes(socket.getPeerCertificate().raw.toString('base64').slice(0, 60)));
          socket.write(`GET / HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`);
          assert.match(String(await buffer(socket)), new RegExp(`"name":"${servername}"`));
        }
      }
    });
  }

  test('connections for a stopped process are its own when it continues', limits, async (t) => {
    const { start, ask } = await makeSharedPort(t);
    await start('/');
    const owner = await start('/', { identity: other, name: 'owner' }, 'other.example');
    owner.kill('SIGSTOP');
    await stopped(owner.pid);
    const servername = 'other.example';
    const given = ask('/', { servername, headers: { Host: servername } });
    for (let at = 0; at < 3; at++) assert.equal((await ask('/')).status, 200, 'others are served');
    owner.kill('SIGCONT');
    assert.equal((await given).name, 'owner');
  });

  test('handshakeTimeout is that of the host, within a process as well', limits, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-https-'));
    t.after(() => rmSync(directory, { recursive: true }));
    process.env.MILLRACE_PORTS = directory;
    const port = await findFreePort();
    const failed = [];
    const listen = async (host, handshakeTimeout) => {
      const server = createServer({ ...identity, handshakeTimeout });
      server.on('tlsClientError', ({ code }) => failed.push(`${host} ${code}`));
      t.after(() => server.close());
      await once(server.listen(`https://${host}:${port}/`), 'listening');
    };
    await listen('a.test', 60_000);
    await listen('b.test', 200);
    for (const at of [0, 1, 2, 3]) {
      const socket = net.connect(port, '127.0.0.1').on('error', () => {});
      t.after(() => socket.destroy());
      socket.write(await helloTo('b.test'));
      await within(5000, () => `the end of ${at}`, once(socket.resume(), 'close'));
    }
    assert.deepEqual(failed, Array(4).fill('b.test ERR_TLS_HANDSHAKE_TIMEOUT'));
  });
});

/** What a TLS client says first, and nothing behind it. */
function helloTo(servername) {
  return new Promise((resolve) => {
    const duplex = new Duplex({ read() {}, write: resolve });
    tls.connect({ socket: duplex, servername }).on('error', () => {});
  });
}
