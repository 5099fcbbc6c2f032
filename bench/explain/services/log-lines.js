// Tells ten long lines of each request to its standard output.
import { createServer } from 'node:http';
import { rotate } from '../rotate.js';

const silent = process.env.REMEDY === '1';
let requests = 0;

const server = createServer((request, response) => {
  requests++;
  for (let step = 0; step < 10 && !silent; step++) {
    console.log('%s request %d step %d: %j', new Date(), requests, step, request.headers);
  }
  if (requests % 20_000 === 0 && !silent) rotate();
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
