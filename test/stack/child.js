// A server with one application of `applications.js`, in a process of its own.
import http from 'node:http';
import { applications } from './applications.js';
import { hold, release } from './later.js';
import { Record } from './record.js';

const { quiet, options, properties, request, ...listeners } = applications[process.argv[2]];
const record = new Record();
const server = http.createServer({ keepAliveTimeout: 60_000, ...options }, (req, res) =>
  request(req, res, record.exchange(req, res, quiet)),
);
Object.assign(server, { headersTimeout: 0, requestTimeout: 0 }, properties);
server.on('connection', (socket) => record.connection(socket, quiet));
for (const [event, listener] of Object.entries(listeners)) server.on(event, listener(record));
if (!quiet) server.on('dropRequest', (_req, socket) => record.line(socket, 'dropRequest'));
process.on('uncaughtException', (error) =>
  process.send({ died: error.stack }, () => process.exit(1)),
);

server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

process.on('message', ({ ports, turns, last }) => {
  if (last) release();
  if (ports.length > 0) hold();
  settle(() => process.send({ seen: ports.map((port) => record.take(port)) }), turns);
});
process.on('disconnect', () => process.exit());

/** Goes on when all that had arrived has been taken, answers given in a later turn included. */
function settle(next, turns) {
  if (turns === 0) next();
  else setImmediate(settle, next, turns - 1);
}
