import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  const { url } = request;
  if (url === '/') response.end('at once');
  else setTimeout(() => response.end(url), Math.random() * 1000);
});
announce(server.listen(0, '127.0.0.1'));
