// Opens a connection to the database for each request, and closes it: the port is taken for a minute after.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { startDependency } from '../dependencies/start.js';

const port = await startDependency('lines', { ms: 5 });

function query(text) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.on('error', reject).on('data', (bytes) => {
      resolve(bytes.toString());
      socket.end();
    });
    socket.write(`${text}\n`);
  });
}

const server = createServer(async (_request, response) => {
  try {
    response.end(await query('select 1'));
  } catch ({ code }) {
    response.writeHead(502).end(code);
  }
});
server.listen(process.env.PORT ?? 0, '127.0.0.1');
