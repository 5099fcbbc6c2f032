// Asks a database over a pool of five connections of its own making; a query takes 30 ms. Fastify.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import fastify from 'fastify';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('lines', { ms: 30 });
const waiting = [];
const idle = Array.from({ length: process.env.REMEDY === '1' ? 30 : 5 }, open);

function open() {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const connection = { socket, resolve: null };
  createInterface({ input: socket }).on('line', (line) => {
    connection.resolve(line);
    const next = waiting.shift();
    if (next) send(connection, next);
    else idle.push(connection);
  });
  return connection;
}

function send(connection, { text, resolve }) {
  connection.resolve = resolve;
  connection.socket.write(`${text}\n`);
}

function query(text) {
  return new Promise((resolve) => {
    const connection = idle.pop();
    if (connection) send(connection, { text, resolve });
    else waiting.push({ text, resolve });
  });
}

const app = fastify();
app.get('/', async () => ({ row: await query('select 1') }));
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
