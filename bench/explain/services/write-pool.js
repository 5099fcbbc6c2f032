// Stores something on a slow disk for each request: it takes one of libuv's threads for 40 ms, without CPU.
import { createServer } from 'node:http';
import { block, slowFiles } from '../slow-files.js';

const files = await slowFiles(200, 40);
let next = 0;

const server = createServer(async (_request, response) => {
  await files[next++ % files.length].write(block);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
