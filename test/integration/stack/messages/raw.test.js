// Connections whose bytes the application wants itself: it gets all of them, and the requests are answered.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createServer } from 'millrace/http';

const limits = { timeout: 20_000 };
const first =
  'POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n';
const second = 'GET /2 HTTP/1.1\r\nHost: a\r\n\r\n';

/** Sends in a thread of its own, so that this one can wait until all is there before it accepts. */
const CLIENT = `
  const { parentPort, workerData: { port, bytes, state } } = require('node:worker_threads');
  const socket = require('node:net').connect(port, '127.0.0.1', () => {
    socket.write(bytes, () => {
      Atomics.store(state, 0, 1);
      Atomics.notify(state, 0);
    });
  });
  let received = '';
  socket.on('data', (chunk) => parentPort.postMessage(received += chunk));
  parentPort.on('message', (text) => socket.write(text));
  socket.on('error', () => {});`;

const cases = [
  ['whole requests', first + second, ''],
  ['a request and a part', first + second.slice(0, 9), second.slice(9)],
  ['a part', first.slice(0, 9), first.slice(9) + second],
];

/** When the application begins to listen. */
const times = {
  'at once': (listen) => listen(),
  'in a tick': (listen) => process.nextTick(listen),
  'in a microtask': (listen) => queueMicrotask(listen),
};

for (const [[name, bytes, rest], when] of cases.flatMap((one) =>
  Object.keys(times).map((when) => [one, when]),
)) {
  test(
    `bytes of ${name} that came with the connection reach a listener added ${when}`,
    limits,
    async (t) => {
      let seen = '';
      const urls = [];
      const server = createServer((request, response) => {
        urls.push(request.url);
        request.resume().on('end', () => response.end(`<${request.url}>`));
      });
      server.on('connection', (socket) => {
        times[when](() => {
          socket.on('data', (chunk) => {
            seen += chunk;
          });
        });
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const state = new Int32Array(new SharedArrayBuffer(4));
      const { port } = server.address();
      const client = new Worker(CLIENT, { eval: true, workerData: { port, bytes, state } });
      t.after(async () => {
        await client.terminate();
        server.closeAllConnections();
        server.close();
      });
      Atomics.wait(state, 0, 0);
      if (rest) client.postMessage(rest);
      for (let received = ''; !received.includes('</2>'); ) {
        [received] = await once(client, 'message');
      }
      assert.equal(seen, first + second);
      assert.deepEqual(urls, ['/1', '/2']);
      assert.deepEqual(server.stats().fallbackReasons, { 'raw-data-listener': 1 });
    },
  );
}
