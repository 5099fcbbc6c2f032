// Computes for 2 ms and asks a service of 20 ms: with ten connections both ends are about equally near.
import { createServer, get } from 'node:http';
import { compute } from '../compute.js';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 20 });

const server = createServer((_request, response) => {
  compute(2);
  get({ port, host: '127.0.0.1' }, (answer) => answer.pipe(response));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
