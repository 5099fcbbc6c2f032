// Answers every request with the same bytes: a body in chunks of one byte, which cost who reads them more than who sends them.
import { createServer } from 'node:net';

const CHUNKS = 4000;
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(CHUNKS)}0\r\n\r\n`,
);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  // A request is short, and the next one comes after its answer: what arrives at once is one.
  socket.on('data', () => socket.write(answer));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
