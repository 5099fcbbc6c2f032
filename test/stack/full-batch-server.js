// A server whose event loop is busy until a file is there, and that answers nothing else before it is asked to: for the test of
// batches that are full. `node full-batch-server.js FILE`. Says what it has seen, a line each: `PORT`, the URL of each request.
import { existsSync, writeSync } from 'node:fs';
import { createServer } from 'millrace/http';

const [file] = process.argv.slice(2);
const waiting = [];

// At once, even if the event loop is about to be busy.
const say = (text) => writeSync(1, `${text}\n`);

const server = createServer((request, response) => {
  const { url } = request;
  say(url);
  request.resume();
  if (url === '/busy') {
    while (!existsSync(file));
    response.end();
  } else if (url === '/answer-all') {
    // Those that came first are answered first.
    for (const [path, one] of waiting) one.end(path);
    response.end();
  } else {
    waiting.push([url, response]);
  }
});
server.on('clientError', (_error, socket) => socket.destroy());
server.listen(0, '127.0.0.1', () => say(server.address().port));
