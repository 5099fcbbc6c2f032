// Compresses a text of 200 kB for whoever accepts that, synchronously.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { document } from '../document.js';

const text = document(200);

const server = createServer(({ headers }, response) => {
  if (headers['accept-encoding']?.includes('gzip')) {
    response.setHeader('Content-Encoding', 'gzip');
    response.end(gzipSync(text));
  } else response.end(text);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
