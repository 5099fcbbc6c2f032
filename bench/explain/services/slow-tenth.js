// Asks another service that answers one in ten after 2 s, the others after 50 ms; the remedy gives up after 200 ms.
import { createServer, get } from 'node:http';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 50, slow: 0.1, slowMs: 2000 });
const signal = () => (process.env.REMEDY === '1' ? AbortSignal.timeout(200) : undefined);

const server = createServer((_request, response) => {
  const request = get({ port, host: '127.0.0.1', signal: signal() }, (answer) => {
    answer.pipe(response);
  });
  request.on('error', () => response.end('{"value":null}'));
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
