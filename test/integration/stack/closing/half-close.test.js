// A client that ends its side behind its request still gets what is answered by `setImmediate`: with Node, its end comes in
// a turn after the request's.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createServer } from 'millrace/http';

const LIMIT = { timeout: 20_000 };

const get = (url) => `GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`;
const REQUESTS = {
  'an answer': get('/late'),
  'an answer behind another': get('/soon') + get('/late'),
};

/** Whether request and end come in one turn is chance. */
const CLIENTS = 50;

for (const [what, bytes] of Object.entries(REQUESTS)) {
  test(`${what} reaches a client that has ended its side`, LIMIT, async (t) => {
    const server = createServer((req, res) => {
      if (req.url === '/soon') res.end('soon');
      else setImmediate(() => res.end('late'));
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    for (let n = 0; n < CLIENTS; n++) {
      const client = net.connect(server.address().port, '127.0.0.1');
      client.end(bytes);
      assert.match(await text(client), /late$/, `client ${n}`);
    }
  });
}

test('an end that comes alone is reported before the bytes after it', LIMIT, async (t) => {
  const order = [];
  const other = net.createServer((socket) => socket.once('data', () => order.push('bytes')));
  const server = createServer((req) => {
    req.socket.once('end', () => order.push('end'));
    client.destroy();
    writer.write('later');
  });
  for (const listening of [other, server]) {
    t.after(() => listening.close());
    await once(listening.listen(0, '127.0.0.1'), 'listening');
  }
  const writer = net.connect(other.address().port, '127.0.0.1');
  t.after(() => writer.destroy());
  const [peer] = await once(other, 'connection');
  const client = net.connect(server.address().port, '127.0.0.1');
  client.write(get('/'));
  await once(peer, 'data');
  assert.deepEqual(order, ['end', 'bytes']);
});
