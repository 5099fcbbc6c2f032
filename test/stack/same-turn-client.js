// A worker with as many connections as there are flags but one: it sends a request on each at once, says by the last flag
// that all are sent, and by each other the status of its response. `late`: the last connection's request is sent when a
// response is there.
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, flags, late } = workerData;
const sent = flags.length - 1;
const sockets = Array.from({ length: sent }, () => net.connect(port, '127.0.0.1'));
const lastOne = late ? sockets.at(-1) : null;
for (const [index, socket] of sockets.entries()) {
  socket.setEncoding('latin1').on('data', (text) => {
    if (socket !== lastOne && lastOne?.bytesWritten === 0) ask(lastOne, sockets.length - 1);
    raise(index, Number(text.slice(9, 12)));
  });
}

parentPort.on('message', () => {
  const first = sockets.filter((socket) => socket !== lastOne);
  let left = first.length;
  for (const [index, socket] of first.entries()) {
    ask(socket, index, () => {
      left--;
      if (left === 0) raise(sent, 1);
    });
  }
});

function ask(socket, index, sentCallback) {
  socket.write(`GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`, sentCallback);
}

function raise(index, value) {
  Atomics.store(flags, index, value);
  Atomics.notify(flags, index);
}
