// Answers a search with what its query string asks for.
import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  const { host, accept } = request.headers;
  const { searchParams } = new URL(request.url, `http://${host}`);
  const text = `${searchParams.get('q')}, page ${searchParams.get('page')}, as ${accept}\n`;
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': text.length });
  response.end(text);
});
announce(server.listen(0, '127.0.0.1'));
