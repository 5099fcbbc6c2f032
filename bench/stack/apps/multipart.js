// Reads a form by busboy, and counts the bytes of its file.
import { createServer } from 'node:http';
import busboy from 'busboy';
import { announce } from './announce.js';

const server = createServer((request, response) => {
  const form = busboy({ headers: request.headers });
  let bytes = 0;
  form.on('file', (_name, stream) => {
    stream.on('data', (chunk) => {
      bytes += chunk.length;
    });
  });
  form.on('close', () => response.end(`${bytes}\n`));
  request.pipe(form);
});
announce(server.listen(0, '127.0.0.1'));
