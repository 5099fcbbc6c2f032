import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('hello world\n');
});
announce(server.listen(0, '127.0.0.1'));
