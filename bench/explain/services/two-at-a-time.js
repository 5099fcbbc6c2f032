// Asks another service that works on two requests at a time, 20 ms each, and lets the others wait.
import { createServer, get } from 'node:http';
import { startDependency } from '../dependencies/start.js';

const permits = process.env.REMEDY === '1' ? 6 : 2;
const port = await startDependency('http', { ms: 20, permits });

const server = createServer((_request, response) => {
  get({ port, host: '127.0.0.1' }, (answer) => answer.pipe(response));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
