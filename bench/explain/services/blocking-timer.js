// Collects statistics every 250 ms, for about 150 ms at a time; the requests are cheap.
import { createServer } from 'node:http';
import { compute } from '../compute.js';

if (process.env.REMEDY !== '1') setInterval(compute, 250, 150);

const server = createServer((_request, response) => {
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
