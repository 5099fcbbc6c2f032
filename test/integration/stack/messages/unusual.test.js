// Requests that leave the fast path: `server.stats()` says why, and they are answered as by Node's own server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { after, test } from 'node:test';
import { createServer } from 'millrace/http';

const limits = { timeout: 60_000 };

const line = (text) => `${text}\r\nHost: a\r\nConnection: close\r\n\r\n`;
const head = (fields) => line(`POST / HTTP/1.1\r\n${fields}`);
const chunked = (body) => head('Transfer-Encoding: chunked') + body;

/** For each reason a request with it. Where Node answers it, it closes the connection. */
const requests = {
  upgrade: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n',
  'after-close': line('GET / HTTP/1.1') + line('GET /2 HTTP/1.1'),
  connect: line('CONNECT a:443 HTTP/1.1'),
  method: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'target-form': line('GET http://a/b HTTP/1.1'),
  'target-byte': line('GET /caf\xe9 HTTP/1.1'),
  version: line('GET /a b HTTP/1.1'),
  'bare-lf': 'GET / HTTP/1.1\nHost: a\nConnection: close\n\n',
  'bare-cr': head('A: b\rC: d'),
  'line-folding': head('A: b\r\n c'),
  'field-name': head('A : b'),
  'field-value': head('A: b\x01'),
  'field-count': head('A: b\r\n'.repeat(1001).trim()),
  'head-size': head(`A: ${'b'.repeat(17_000)}`),
  'content-length': head('Content-Length: +2'),
  'transfer-encoding': `${head('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
  'multiple-framing': `${head('Content-Length: 2\r\nTransfer-Encoding: chunked')}0\r\n\r\n`,
  'multiple-host': head('Host: b'),
  'proxy-connection': head('Proxy-Connection: keep-alive'),
  'chunk-size': chunked('2 \r\nab\r\n0\r\n\r\n'),
  'chunk-extension': chunked('2;a;b\r\nab\r\n0\r\n\r\n'),
  'chunk-end': chunked('2\r\nabc\r\n0\r\n\r\n'),
  'trailer-field': chunked('2\r\nab\r\n0\r\nContent-Length: 2\r\n\r\n'),
  'trailer-size': chunked(`2\r\nab\r\n0\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`),
};

/** A usual request, which is not counted. */
const USUAL = chunked('2;a=b\r\nab\r\n0\r\nA: b\r\n\r\n');

async function listen(create) {
  const server = create((request, response) => {
    let received = 0;
    request.on('data', (data) => {
      received += data.length;
    });
    request.on('end', () => response.end(`${request.method} ${request.url} ${received}`));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** Everything that comes until the server closes the connection, without dates. */
async function exchange(server, bytes) {
  const socket = net.connect(server.address().port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  socket.on('data', (data) => {
    received += data;
  });
  // What the server has not read when it closes resets the connection.
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return received.replace(/^Date: .*\r\n/gm, '');
}

test('each reason is counted, once for each request, and Node answers', limits, async () => {
  const plain = await listen(http.createServer);
  const server = await listen(createServer);
  assert.match(await exchange(server, USUAL), /^HTTP\/1.1 200 OK\r\n.*\r\n\r\n(.*\r\n)?POST \/ 2/s);
  assert.deepEqual(server.stats().unusualRequests, {});
  const expected = {};
  for (const [reason, bytes] of Object.entries(requests)) {
    const answer = await exchange(server, bytes);
    expected[reason] = 1;
    assert.deepEqual(server.stats().unusualRequests, expected);
    assert.equal(answer, await exchange(plain, bytes), reason);
  }
  const source = readFileSync(
    new URL('../../../../src/http/server/unusual-reason.ts', import.meta.url),
    'utf8',
  );
  const reasons = [...source.matchAll(/^ {2}\| '(.+?)'/gm)].map(([, reason]) => reason);
  assert.deepEqual(Object.keys(expected).toSorted(), reasons.toSorted());

  // The reactor forgets a server that is closed; its counters go on.
  await new Promise((resolve) => server.close(resolve));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await exchange(server, requests['bare-lf']);
  await exchange(server, requests['chunk-size']);
  assert.deepEqual(server.stats().unusualRequests, {
    ...expected,
    'bare-lf': 2,
    'chunk-size': 2,
  });
});
