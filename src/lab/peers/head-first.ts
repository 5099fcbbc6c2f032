import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CountingServer } from './counting-server.js';

const BODY = 'hello';
/** Delay of the body, long enough for the head to arrive in a packet of its own. */
const BODY_DELAY_MS = 10;

/**
 * Starts a server that sends the head of each response before its body: two packets, of which the first always has the same
 * length.
 */
export async function startHeadFirstServer(): Promise<CountingServer> {
  let [requests, connections] = [0, 0];
  const server = createServer((_, response) => {
    requests += 1;
    response.writeHead(200, { 'content-length': BODY.length });
    response.flushHeaders();
    setTimeout(() => response.end(BODY), BODY_DELAY_MS);
  }).listen(0, '127.0.0.1');
  server.on('connection', () => {
    connections += 1;
  });
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pids: [process.pid],
    requests: async () => requests,
    connections: async () => connections,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
