// A server on bare sockets, as they are by default: it writes the head, then, when it has it, the body.
import { createServer } from 'node:net';

const noDelay = process.env.REMEDY === '1';
const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n';

const server = createServer({ noDelay }, (socket) => {
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    if (!text.endsWith('\r\n\r\n')) return;
    text = '';
    socket.write(head);
    setImmediate(() => socket.write('done\n'));
  });
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
