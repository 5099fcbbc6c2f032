// Answers with a file, by a pipe; its size is the argument.
import { createReadStream, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { announce } from './announce.js';
import { createFolder } from './memory-folder.js';

const bytes = Number(process.argv[2]);
const file = join(createFolder(), 'body');
writeFileSync(file, Buffer.alloc(bytes, 'x'));

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': bytes });
  createReadStream(file).pipe(response);
});
announce(server.listen(0, '127.0.0.1'));
