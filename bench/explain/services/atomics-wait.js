// Waits 5 ms in each request for a lock that it shares with a thread, on the main thread.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const lock = new Int32Array(new SharedArrayBuffer(4));

const server = createServer(async (_request, response) => {
  if (process.env.REMEDY === '1') await delay(5);
  else Atomics.wait(lock, 0, 0, 5);
  response.end('done\n');
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
