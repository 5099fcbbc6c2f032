// A hello world that listens to the port or the URL prefix of its first argument, or to any port.
import { createServer } from 'node:http';
import { announce } from './announce.js';

const server = createServer((_request, response) => {
  // Without writeHead() the length is told, which spares a proxy the chunks.
  response.setHeader('Content-Type', 'text/plain');
  response.end('hello world\n');
});
announce(server.listen(process.argv[2] ?? 0));

// The benchmark has to see whether connections moved. One that cannot listen tells nothing.
server.once('listening', () => {
  process.on('exit', () => {
    const moved = server.stats?.()?.connections.moved;
    console.log(JSON.stringify({ moved }));
  });
});
