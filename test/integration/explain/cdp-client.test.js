// The client of debuggers against what else may listen where one is looked for.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, test } from 'node:test';
import { CdpClient } from '#internal/explain/observe/probe/cdp-client.js';

const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Listens for WebSockets, and gives each its socket when the first bytes of a message have come. */
async function listen(onMessage) {
  const server = createServer((_, response) => response.end('no debugger'));
  server.on('upgrade', (request, socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on('error', () => {});
    socket.once('data', () => onMessage(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `ws://127.0.0.1:${server.address().port}/`;
}

/** A text message of a server. */
function frame(text) {
  return Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
}

for (const [what, answer] of [
  ['text that is no JSON', (socket) => socket.write(frame('hello'))],
  ['nothing but null', (socket) => socket.write(frame('null'))],
  ['a number', (socket) => socket.write(frame('1'))],
  ['no WebSocket', (socket) => socket.write(Buffer.from('8100ff', 'hex'))],
  ['the end', (socket) => socket.end()],
  ['a reset', (socket) => socket.resetAndDestroy()],
  ['a closing frame', (socket) => socket.end(Buffer.from([0x88, 0]))],
]) {
  test(`a call that is answered by ${what} fails, and so do those after it`, async () => {
    const url = await listen(answer);
    const client = await CdpClient.connect(url, AbortSignal.timeout(10_000));
    const closed = /^Error: the debugger has closed the connection$/;
    await assert.rejects(client.call('Runtime.evaluate', {}), closed);
    await client.ended;
    await assert.rejects(client.call('Runtime.evaluate', {}), closed);
    client.close();
  });
}

test('a server without WebSocket, and a port without one, are no debugger', async () => {
  const server = createServer((_, response) => response.end('no debugger'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${server.address().port}/`;
  const refused = () =>
    assert.rejects(
      CdpClient.connect(url, AbortSignal.timeout(10_000)),
      /^Error: the port does not belong to a debugger$/,
    );
  await refused();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await refused();
});

test('an unanswered call fails when the client is closed', async () => {
  const asked = deferred();
  const url = await listen(asked.resolve);
  const client = await CdpClient.connect(url, AbortSignal.timeout(10_000));
  const called = assert.rejects(client.call('Runtime.evaluate', {}), /has closed the connection/);
  await asked.promise;
  client.close();
  await called;
});

test('unexpected responses and other events are ignored', async () => {
  const url = await listen((socket) =>
    socket.write(
      Buffer.concat([
        frame('{"id":99,"result":{}}'),
        frame('{"method":"Debugger.paused"}'),
        frame('{"id":1}'),
      ]),
    ),
  );
  const client = await CdpClient.connect(url, AbortSignal.timeout(10_000));
  assert.deepEqual(await client.call('Runtime.evaluate', {}), {});
  client.close();
});

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
