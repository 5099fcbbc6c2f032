import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  request.pipe(response);
});
announce(server.listen(0, '127.0.0.1'));
