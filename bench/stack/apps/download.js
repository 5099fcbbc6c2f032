// Answers with a buffer; its size is the argument.
import { createServer } from 'node:http';
import { announce } from './announce.js';

const body = Buffer.alloc(Number(process.argv[2] ?? 64 * 1024), 'x');

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': body.length });
  response.end(body);
});
announce(server.listen(0, '127.0.0.1'));
