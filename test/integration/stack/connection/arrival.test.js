// What arrives first is told first, and what follows bad bytes is told as by Node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import nodeHttp from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { createServer } from 'millrace/http';

const limits = { timeout: 20_000 };

async function connected(server) {
  const client = net.connect(server.address().port, '127.0.0.1').on('error', () => {});
  await once(client, 'connect');
  return client;
}

test(
  'requests of connections that were accepted together reach the application in their order',
  limits,
  async () => {
    const names = ['first', 'second', 'third', 'fourth', 'fifth'];
    const seen = [];
    const server = createServer((request, response) => {
      seen.push(request.url.slice(1));
      response.end();
      if (seen.length === names.length) server.emit('all seen');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const all = once(server, 'all seen');
    const clients = names.map((name) => {
      const client = net.connect(server.address().port, '127.0.0.1').on('error', () => {});
      client.write(`GET /${name} HTTP/1.1\r\nHost: a\r\n\r\n`);
      return client;
    });
    await all;
    assert.deepEqual(seen, names);
    for (const client of clients) client.destroy();
    server.close();
  },
);

/** What 'clientError' tells of packets that are sent one after the other, none of which ends the connection. */
async function told(create, packets) {
  const server = create().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = await connected(server);
  const errors = [];
  for (const packet of packets) {
    const next = once(server, 'clientError');
    client.write(packet);
    const [{ code, bytesParsed, rawPacket }] = await next;
    errors.push({ code, bytesParsed, rawPacket: String(rawPacket) });
  }
  client.destroy();
  server.closeAllConnections();
  server.close();
  return errors;
}

for (const [name, packets] of Object.entries({
  'no method': ['BAD\r\n\r\n', 'MORE\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  'a field without a colon': ['GET / HTTP/1.1\r\nHost a\r\n\r\n', 'again', 'and again'],
  'another version': ['GET / HTTP/9.9\r\n\r\n', 'x'],
})) {
  test(
    `packets after invalid bytes are reported with the position of the first error: ${name}`,
    limits,
    async () => {
      assert.deepEqual(
        await told(createServer, packets),
        await told(nodeHttp.createServer, packets),
      );
    },
  );
}
