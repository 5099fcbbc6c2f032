// Holds 2 MB for each request while it waits 3 s for another service, without a time limit; with it, 0.3 s.
import { get } from 'node:http';
import express from 'express';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('http', { ms: 3000 });
const signal = () => (process.env.REMEDY === '1' ? AbortSignal.timeout(300) : undefined);

const app = express();
app.get('/', (_request, response) => {
  const document = Buffer.alloc(2_000_000, 'x');
  const answer = () => response.send(`${document.length}\n`);
  const request = get({ port, host: '127.0.0.1', signal: signal() }, (found) => {
    found.resume().on('end', answer);
  });
  request.on('error', answer);
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
