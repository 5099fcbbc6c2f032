// Servers with an output cache, and requests to them on raw sockets.
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer } from 'millrace/http';

export const limits = { timeout: 20_000 };

/** A server for the time of the test `t`; `calls` has the URL of each request that reached the application. */
export async function serve(t, cache, listener = answerX, options = {}) {
  const calls = [];
  const server = createServer({ cache, ...options }, (request, response) => {
    calls.push(request.url);
    listener(request, response, calls.length);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, calls };
}

function answerX(_request, response) {
  response.end('x');
}

/** A request's bytes. */
export function ask(path = '/', fields = [], method = 'GET') {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: a', ...fields].join('\r\n')}\r\n\r\n`;
}

export const last = ['Connection: close'];

/** All that comes back for these bytes until the server ends the connection. */
export async function exchange(server, bytes) {
  const socket = net.connect(server.address().port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

/** Responses without chunks, apart. */
export function responses(received) {
  const found = [];
  let rest = received;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const head = rest.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const bodiless = /^HTTP\/1.1 (304|204)/.test(head);
    const body = bodiless ? '' : rest.slice(end, end + length);
    found.push({ status: Number(head.slice(9, 12)), head, body });
    rest = rest.slice(end + body.length);
  }
  return found;
}

export async function get(server, path = '/', fields = []) {
  const [response] = responses(await exchange(server, ask(path, [...fields, ...last])));
  return response;
}
