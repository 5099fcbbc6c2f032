// Runs everything of `responses.js` in each of some situations, and all of `scenarios.js`, and prints what came of it, as JSON.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { responses } from './responses.js';
import { scenarios } from './scenarios.js';

const LAST = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const situations = {
  get: 'GET /it HTTP/1.1\r\nHost: a\r\n\r\n',
  head: 'HEAD /it HTTP/1.1\r\nHost: a\r\n\r\n',
  post: 'POST /it HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc',
  'HTTP/1.0': 'GET /it HTTP/1.0\r\n\r\n',
  'HTTP/1.0 kept': 'GET /it HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  close: 'GET /it HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  queued: 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /it HTTP/1.1\r\nHost: a\r\n\r\n',
};

async function transcript(action, request) {
  const lines = { app: [], req: [], res: [] };
  let end;
  const over = new Promise((resolve) => {
    end = resolve;
  });
  const server = http.createServer((req, res) => {
    if (req.url === '/last') return void res.end('last');
    if (req.url === '/slow') return void setImmediate(() => res.end('slow'));
    for (const event of ['end', 'close', 'error']) req.on(event, () => lines.req.push(event));
    for (const event of ['prefinish', 'finish', 'close'])
      res.on(event, () => lines.res.push(event));
    res.on('close', () => later(end));
    uncaught = (line) => lines.app.push(line);
    later(() => {
      if (res.closed) return;
      lines.app.push('left open');
      res.destroy();
    }, 1_000);
    action(res, (line) => lines.app.push(line));
  });
  server.on('clientError', (error, socket) => {
    lines.app.push(`clientError ${error.code}`);
    socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const received = await exchange(server.address().port, request, over);
  await new Promise((resolve) => server.close(resolve));
  return { received: received.replace(/Date: [^\r\n]*GMT/g, 'Date: *'), ...lines };
}

/** Sends a request; when its response is over, the last one. */
async function exchange(port, request, over) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  let received = '';
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(request);
  over.then(() => {
    if (socket.writable) socket.write(LAST);
    later(() => socket.destroy(), 2_000);
  });
  await once(socket, 'close');
  return received;
}

/** Some turns of the event loop later. */
function later(action, turns = 20) {
  if (turns === 0) action();
  else setImmediate(later, action, turns - 1);
}

let uncaught = () => {};
// Whoever was to read this is gone. As an uncaught exception it would be told there, and fail again, for ever.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(1));
process.on('uncaughtException', (error) => uncaught(`uncaught ${error.code ?? error.message}`));

const all = {};
for (const [name, action] of responses) {
  for (const [situation, request] of Object.entries(situations)) {
    all[`${name} (${situation})`] = await transcript(action, request);
  }
}
uncaught = (line) => process.stderr.write(`${line}\n`);
for (const [name, scenario] of Object.entries(scenarios)) all[name] = await scenario();
process.stdout.write(JSON.stringify(all));
