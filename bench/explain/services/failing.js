// Every fifth request fails at once, the others take 20 ms.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const failing = process.env.REMEDY !== '1';
let requests = 0;

const server = createServer(async (_request, response) => {
  if (failing && ++requests % 5 === 0) {
    response.writeHead(503).end('not now\n');
    return;
  }
  await delay(20);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
