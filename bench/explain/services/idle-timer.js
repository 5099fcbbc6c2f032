// Looks every 5 ms through its caches for what is too old, 2 ms long, whether or not there are requests.
import { createServer } from 'node:http';
import { compute } from '../compute.js';

if (process.env.REMEDY !== '1') setInterval(compute, 5, 2);

const server = createServer((_request, response) => {
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
