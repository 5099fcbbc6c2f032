// Calls a service by its name over a new connection each time; the name server takes 60 ms, see surroundings.js.

import { once } from 'node:events';
import { createServer, get } from 'node:http';

const inner = createServer((_request, response) => response.end('inner')).listen(0, '127.0.0.1');
await once(inner, 'listening');
const call = { host: 'inner.example.test', family: 4, port: inner.address().port, agent: false };

createServer((_request, response) => {
  get(call, (answer) => answer.pipe(response)).on('error', ({ code }) => {
    response.statusCode = 502;
    response.end(code);
  });
}).listen(process.env.PORT ?? 0, '127.0.0.1');
