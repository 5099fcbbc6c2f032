// Two workers, and a connection's worker is chosen by the client's address: behind a proxy all go to the same.
import cluster from 'node:cluster';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { compute } from '../compute.js';

const sticky = process.env.REMEDY !== '1';

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()];
  let next = 0;
  const hash = (address) => address.split('.').reduce((sum, part) => sum + Number(part), 0);
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    const number = sticky ? hash(socket.remoteAddress) : next++;
    workers[number % workers.length].send('connection', socket);
  });
  await Promise.all(workers.map((worker) => new Promise((ready) => worker.once('online', ready))));
  server.listen(process.env.PORT ?? 0, '127.0.0.1');
} else {
  const server = createHttpServer((_request, response) => {
    compute(1);
    response.end('done\n');
  });
  process.on('message', (message, socket) => {
    if (message !== 'connection' || !socket) return;
    server.emit('connection', socket);
    socket.resume();
  });
}
