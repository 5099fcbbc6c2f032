// Waits 50 ms for each request, as for a database, and needs next to no CPU.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const server = createServer(async (_request, response) => {
  await delay(50);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
