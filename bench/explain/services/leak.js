// Keeps 100 kB of every request for ever.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const kept = [];

const server = createServer(async (_request, response) => {
  kept.push(new Array(12_500).fill(0.5));
  if (process.env.REMEDY === '1') kept.length = 0;
  await delay(5);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
