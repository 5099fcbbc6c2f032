import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  let bytes = 0;
  request.on('data', (chunk) => {
    bytes += chunk.length;
  });
  request.on('end', () => response.end(`${bytes}\n`));
});
announce(server.listen(0, '127.0.0.1'));
