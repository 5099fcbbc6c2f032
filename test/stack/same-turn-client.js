// A worker with as many connections as there are flags but one: it sends a request on each at once, says by the last flag
// that all are sent, and by each other that its response is there.
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, flags } = workerData;
const sent = flags.length - 1;
const sockets = Array.from({ length: sent }, () => net.connect(port, '127.0.0.1'));
for (const [index, socket] of sockets.entries()) {
  socket.on('data', () => raise(index));
}

parentPort.on('message', () => {
  let left = sockets.length;
  for (const [index, socket] of sockets.entries()) {
    socket.write(`GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`, () => {
      left--;
      if (left === 0) raise(sent);
    });
  }
});

function raise(index) {
  Atomics.store(flags, index, 1);
  Atomics.notify(flags, index);
}
