// A hello world on a worker for each core, which leaves no core to whoever loads it.
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';

if (cluster.isPrimary) {
  for (let i = 0; i < availableParallelism(); i++) cluster.fork();
} else {
  const server = createServer((_request, response) => {
    response.end('hello world\n');
  });
  server.listen(process.env.PORT ?? 0, '127.0.0.1');
}
