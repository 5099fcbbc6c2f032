// A database with a protocol of lines: the answer to a line comes `ms` later, on the same connection, at most `permits`
// at a time over all connections.
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { permits } from '../permits.js';
import { ready } from './ready.js';

const { ms, permits: count = Infinity } = JSON.parse(process.argv[2]);
const admit = permits(count);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {});
  createInterface({ input: socket }).on('line', async (line) => {
    const done = await admit();
    setTimeout(() => {
      done();
      socket.write(`${line} found\n`);
    }, ms);
  });
});
server.listen(0, '127.0.0.1', () => ready(server.address().port));
