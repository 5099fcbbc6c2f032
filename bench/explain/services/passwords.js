// Checks a password on each request, on libuv's threads.
import { pbkdf2 } from 'node:crypto';
import { createServer } from 'node:http';

const iterations = Number(process.env.ITERATIONS ?? 40_000);

const server = createServer((_request, response) => {
  pbkdf2('password', 'salt', iterations, 32, 'sha256', (_error, key) => {
    response.end(key.toString('hex'));
  });
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
