import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => response.end(Buffer.concat(chunks)));
});
announce(server.listen(0, '127.0.0.1'));
