// Compresses what the handlers send, as a middleware and by a stream, in Express: the work is done on libuv's threads.
import { createGzip } from 'node:zlib';
import express from 'express';
import { document } from '../document.js';

const text = document(300);

const app = express();
app.use((request, response, next) => {
  if (!request.headers['accept-encoding']?.includes('gzip')) return next();
  const gzip = createGzip();
  response.setHeader('Content-Encoding', 'gzip');
  gzip.pipe(response);
  response.send = (body) => gzip.end(body);
  next();
});
app.get('/', (_request, response) => {
  response.send(text);
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
