// Sends back what it gets by a pipe, with Nagle's algorithm on: head and body are two writes.
import { createServer } from 'node:http';

const noDelay = process.env.REMEDY === '1';

const server = createServer({ noDelay }, (request, response) => {
  request.pipe(response);
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
