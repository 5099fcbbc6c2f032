// Makes, uses and closes servers one after the other, and prints how much memory was used after the first and after the last of them.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

const [first, last] = process.argv.slice(2).map(Number);

async function serve(number) {
  const server = http.createServer((_req, res) => res.end('hello'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // Every other one is closed before its connection is, and some have none. Reset, as ports would run out otherwise.
  const socket = number % 10 > 0 ? await ask(server) : null;
  if (number % 2 > 0) socket?.resetAndDestroy();
  await new Promise((resolve) => {
    server.close(resolve);
    socket?.resetAndDestroy();
  });
  if (server.stats().connections.native !== (socket ? 1 : 0)) throw new Error('not native');
}

async function ask(server) {
  const socket = net.connect(server.address().port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  return socket;
}

function used() {
  globalThis.gc();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}

let before;
for (let number = 1; number <= last; number++) {
  await serve(number);
  if (number === first) before = used();
}
process.stdout.write(JSON.stringify({ before, after: used() }));
