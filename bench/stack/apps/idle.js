import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { announce } from './announce.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

const server = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('hello world\n');
});
server.keepAliveTimeout = 3_600_000;
announce(server.listen(0, '127.0.0.1'));

// So that the benchmark sees what is in use, and not what waits to be collected.
process.on('SIGUSR2', () => {
  collectGarbage();
  collectGarbage();
  console.log(JSON.stringify({ residentBytes: process.memoryUsage.rss() }));
});
