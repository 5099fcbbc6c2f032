// Writes each upload to a file, by a pipe; a connection has its file.
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { announce } from './announce.js';
import { createFolder } from './memory-folder.js';

const folder = createFolder();

const server = createServer((request, response) => {
  const file = createWriteStream(join(folder, `${request.socket.remotePort}`));
  request.pipe(file).on('finish', () => response.end(`${file.bytesWritten}\n`));
});
announce(server.listen(0, '127.0.0.1'));
