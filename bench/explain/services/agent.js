// Asks another service of 50 ms through an agent that opens five sockets at most.
import { Agent, createServer, get } from 'node:http';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 50 });
const agent = new Agent({ keepAlive: true, maxSockets: process.env.REMEDY === '1' ? 20 : 5 });

const server = createServer((_request, response) => {
  get({ port, host: '127.0.0.1', agent }, (answer) => answer.pipe(response));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
