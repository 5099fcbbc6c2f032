// Lets two connections wait at most, and now and then computes for 100 ms without accepting any; a request takes 10 ms.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { compute } from '../compute.js';

const backlog = process.env.REMEDY === '1' ? 511 : 2;
setInterval(compute, 400, 100);

const server = createServer(async (_request, response) => {
  await delay(10);
  response.end('done\n');
});
server.listen({ port: process.env.PORT ?? 0, host: '127.0.0.1', backlog });
