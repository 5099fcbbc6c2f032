// Puts a document of 500 kB into an archive, on libuv's threads, and tells how long it got.
import { createServer } from 'node:http';
import { deflateRaw } from 'node:zlib';
import { document } from '../document.js';

const text = document(500);
const level = process.env.REMEDY === '1' ? 1 : 9;

const server = createServer((_request, response) => {
  deflateRaw(text, { level }, (_error, archive) => response.end(`${archive.length}\n`));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
