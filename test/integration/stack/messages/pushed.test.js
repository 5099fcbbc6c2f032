// Bytes that an application puts into a socket are parsed as if the client had sent them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { createServer } from 'millrace/http';
import { createServer as createSecureServer } from 'millrace/https';
import { selfSignedCertificate } from '#internal/native/addon.js';

const { key, cert } = await selfSignedCertificate(['localhost']);
const get = (url) => `GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`;

const protocols = {
  http: { create: createServer, connect: (port) => net.connect(port, '127.0.0.1') },
  https: {
    create: (listener) => createSecureServer({ key, cert }, listener),
    connect: (port) => tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }),
  },
};

/** When the handler puts something into the socket. */
const times = {
  'before its response': (put, response) => {
    put();
    response.end('<first>');
  },
  'behind its response': (put, response) => {
    response.end('<first>');
    put();
  },
  'long before its response': (put, response) => {
    put();
    setImmediate(() => response.end('<first>'));
  },
  'on an idle connection': (put, response) => {
    response.end('<first>');
    response.once('finish', () => setImmediate(put));
  },
};

/** Serves one client; gives what it has received as soon as `end` is among it. */
async function receive(t, { create, connect }, handler, text, end) {
  const server = create(handler);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect(server.address().port);
  t.after(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.write(text);
  let received = '';
  for await (const bytes of client) {
    received += bytes;
    if (received.includes(end)) break;
  }
  return { received, stats: server.stats() };
}

const bodies = (received) => received.match(/<[\w/]+>/g).join('');

for (const [protocol, member, when] of Object.keys(protocols).flatMap((protocol) =>
  ['push', 'unshift'].flatMap((member) =>
    Object.keys(times).map((when) => [protocol, member, when]),
  ),
)) {
  test(`${protocol}: a request that a handler gives to ${member}, ${when}, is answered`, {
    timeout: 10_000,
  }, async (t) => {
    const handler = (request, response) => {
      if (request.url !== '/') return void response.end(`<${request.url}>`);
      const put = () => request.socket[member](Buffer.from(get('/put')));
      times[when](put, response);
    };
    const { received, stats } = await receive(t, protocols[protocol], handler, get('/'), '</put>');
    assert.equal(bodies(received), '<first></put>');
    assert.deepEqual(stats.fallbackReasons, { 'raw-data-listener': 1 });
  });
}

for (const protocol of Object.keys(protocols)) {
  test(`${protocol}: several requests that a handler pushes are answered in order`, {
    timeout: 10_000,
  }, async (t) => {
    const handler = ({ url, socket }, response) => {
      if (url !== '/') return void response.end(`<${url}>`);
      socket.push(Buffer.from(get('/1')));
      setImmediate(() => {
        socket.push(Buffer.from(get('/2')));
        response.end('<first>');
      });
    };
    const { received } = await receive(t, protocols[protocol], handler, get('/'), '</2>');
    assert.equal(bodies(received), '<first></1></2>');
  });

  test(`${protocol}: an unanswered request of a taken socket is aborted before its response closes`, {
    timeout: 10_000,
  }, async (t) => {
    const events = [];
    let tell;
    const closed = new Promise((resolve) => {
      tell = resolve;
    });
    const handler = (request, response) => {
      request.on('aborted', () => events.push('aborted'));
      request.on('error', () => {});
      response.on('close', () => events.push('response closed'));
      const { socket } = request;
      socket.removeAllListeners('data');
      socket.on('data', () => {});
      socket.on('close', () => setImmediate(tell));
      socket.write('<taken>');
    };
    await receive(t, protocols[protocol], handler, get('/'), '<taken>');
    await closed;
    assert.deepEqual(events, ['aborted', 'response closed']);
  });
}
