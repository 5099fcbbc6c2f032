// Renews a token in a section that one request at a time may be in; it takes 10 ms.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { permits } from '../permits.js';

const admit = permits(process.env.REMEDY === '1' ? Infinity : 1);

const server = createServer(async (_request, response) => {
  const leave = await admit();
  await delay(10);
  leave();
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
