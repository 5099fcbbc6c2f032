// A server on bare sockets that writes each row of its answer by itself.
import { createServer } from 'node:net';

const rows = Array.from({ length: 60 }, (_, i) => `row ${i}\n`);
const length = rows.join('').length;
const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n`;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    if (!text.endsWith('\r\n\r\n')) return;
    text = '';
    if (process.env.REMEDY === '1') socket.cork();
    socket.write(head);
    for (const row of rows) socket.write(row);
    socket.uncork();
  });
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
