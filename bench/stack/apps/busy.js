// A hello world whose event loop computes for half of the time, 500 ms at once.
import { createServer } from 'node:http';
import { announce } from './announce.js';

const BUSY_MS = 500;

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('hello world\n');
});
setInterval(() => {
  const until = performance.now() + BUSY_MS;
  while (performance.now() < until);
}, 2 * BUSY_MS);
announce(server.listen(0, '127.0.0.1'));
