// A server whose process ends while it answers: the path says how.
import { readSync } from 'node:fs';
import http from 'node:http';

const server = http.createServer((request, response) => {
  const way = request.url.slice(1);
  // The requests that come meanwhile are taken in one turn.
  if (way === 'block') readSync(0, Buffer.alloc(1));
  if (way === 'finish') response.on('finish', () => process.exit());
  if (way === 'listener') process.on('exit', () => response.end('bye'));
  else if (way !== 'leave') response.end('bye');
  if (['exit', 'leave', 'listener'].includes(way)) process.exit();
  if (way === 'tick') process.nextTick(() => process.exit());
  if (way === 'microtask') Promise.resolve().then(() => process.exit());
  if (way === 'throw') throw new Error('thrown on purpose');
  if (way === 'abort') process.abort();
  if (way === 'kill') process.kill(process.pid, 'SIGKILL');
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
