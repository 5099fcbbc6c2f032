// A client of a database with a protocol of lines, which answers in 10 ms.
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { startDependency } from '../../../dependencies/start.js';

const port = await startDependency('lines', { ms: 10 });

/** Opens a connection; `ask(line)` resolves with the answer. */
export async function connectLines() {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const waiting = [];
  createInterface({ input: socket }).on('line', (line) => waiting.shift()(line));
  return {
    ask: (line) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        socket.write(`${line}\n`);
      }),
    end: () => socket.destroy(),
  };
}
