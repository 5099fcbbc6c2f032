import { createServer } from 'node:http';
import { announce } from './announce.js';

/**
 * The hello world with a deadline, which no response meets. Where the event loop is busy a second thread sees to it, if
 * `whileBusy` says so; of all that this thread is for, deadlines are what it looks at most often.
 */
export function serveHello({ whileBusy }) {
  const server = createServer({ responseTimeout: 60_000, whileBusy }, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.end('hello world\n');
  });
  announce(server.listen(0, '127.0.0.1'));
}
