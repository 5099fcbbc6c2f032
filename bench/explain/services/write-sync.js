// Stores something on a slow disk for each request, synchronously: 15 ms in which nothing else goes on.
import { writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { block, slowFiles } from '../slow-files.js';

const files = await slowFiles(64, 15);
let next = 0;

const server = createServer(async (_request, response) => {
  const file = files[next++ % files.length];
  if (process.env.REMEDY === '1') await file.write(block);
  else writeSync(file.fd, block);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
