// Asks another service that takes 20 ms whatever the load, by fetch.
import { createServer } from 'node:http';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 20 });

const server = createServer(async (_request, response) => {
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  response.end(JSON.stringify(await answer.json()));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
