// Every fiftieth request computes a report of about 100 ms, all others take 1 ms.
import { createServer } from 'node:http';
import { compute } from '../compute.js';

const known = process.env.REMEDY === '1';
let requests = 0;

const server = createServer((_request, response) => {
  if (++requests % 50 === 0 && !known) compute(100);
  compute(1);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
