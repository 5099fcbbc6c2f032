// A worker with as many connections as there are flags but one: it sends a request on each at once, says by the last flag
// that all are sent, and by each other the status of its response.
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, flags } = workerData;
const sent = flags.length - 1;
const sockets = Array.from({ length: sent }, () => net.connect(port, '127.0.0.1'));
for (const [index, socket] of sockets.entries()) {
  socket.setEncoding('latin1').on('data', (text) => raise(index, Number(text.slice(9, 12))));
}

parentPort.on('message', () => {
  let left = sockets.length;
  for (const [index, socket] of sockets.entries()) {
    socket.write(`GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`, () => {
      left--;
      if (left === 0) raise(sent, 1);
    });
  }
});

function raise(index, value) {
  Atomics.store(flags, index, value);
  Atomics.notify(flags, index);
}
