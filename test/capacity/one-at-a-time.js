// A server that takes DELAY ms with any number of requests at once, and SERVICE ms more with one after the other. The
// ends of its service are computed, not waited for one by one: timers that fire late do not change its capacity, 1000 / SERVICE.
import { createServer } from 'node:http';

const delayMs = Number(process.env.DELAY ?? 0);
const serviceMs = Number(process.env.SERVICE ?? 0);
const failsAbove = Number(process.env.FAILS_ABOVE ?? Number.POSITIVE_INFINITY);
const endsAbove = Number(process.env.ENDS_ABOVE ?? Number.POSITIVE_INFINITY);
let free = 0;
let connections = 0;

createServer((_, response) => {
  if (connections > endsAbove) process.exit(3);
  if (connections > failsAbove) {
    response.statusCode = 503;
    response.end();
    return;
  }
  const now = performance.now();
  free = Math.max(now + delayMs, free) + serviceMs;
  setTimeout(() => response.end('ok'), free - now);
})
  .on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => {
      connections -= 1;
    });
  })
  .listen(0, '127.0.0.1');
