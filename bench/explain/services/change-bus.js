// Each request subscribes to a bus of changes, forgets to unsubscribe, and publishes one.
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';

const bus = new EventEmitter().setMaxListeners(0);
const unsubscribes = process.env.REMEDY === '1';

createServer((request, response) => {
  let seen = 0;
  const count = (path) => {
    if (path === request.url) seen++;
  };
  bus.on('change', count);
  bus.emit('change', '/other');
  response.end(String(seen));
  if (unsubscribes) bus.off('change', count);
}).listen(process.env.PORT ?? 0, '127.0.0.1');
