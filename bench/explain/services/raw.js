// Answers whatever arrives without parsing it: one write for each read, with as many answers as requests ended in it.
import { createServer } from 'node:net';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n';
const MOST = 1000;
const answers = Array.from({ length: MOST + 1 }, (_, count) => Buffer.from(answer.repeat(count)));
const END = Buffer.from('\r\n\r\n');

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  let length = 0;
  let unanswered = 0;
  socket.on('data', (bytes) => {
    // All requests of a run are alike: the first one tells their length.
    length ||= bytes.indexOf(END) + END.length;
    unanswered += bytes.length;
    while (unanswered >= length) {
      const count = Math.min(MOST, Math.floor(unanswered / length));
      unanswered -= count * length;
      socket.write(answers[count]);
    }
  });
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
