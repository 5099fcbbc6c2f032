import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { announce } from './announce.js';

const [cert, key] = process.argv.slice(2).map((file) => readFileSync(file));

const server = createServer({ cert, key }, (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('hello world\n');
});
announce(server.listen(0, '127.0.0.1'));
