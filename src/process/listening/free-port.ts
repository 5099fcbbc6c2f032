import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * Ports from the first to before the last of these are given to no client by default: the system takes the ports of outgoing
 * connections from 32768 on, and from 49152 on outside of Linux.
 */
const [FIRST, LAST] = [20_000, 32_768];
const ATTEMPTS = 20;

/** Finds a TCP port that was free a moment ago, and that no outgoing connection gets meanwhile. */
export async function findFreePort(): Promise<number> {
  const [port = 0] = await findFreePorts(1);
  return port;
}

/** Finds several different free ports. All are open at the same time, since one may be found again. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  while (servers.length < count) servers.push(await listenAnywhere());
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  return ports;
}

/** Where all that are tried are taken, the system chooses. */
async function listenAnywhere(): Promise<Server> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const server = createServer().listen(randomInt(FIRST, LAST));
    const isListening = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (isListening) return server;
  }
  const server = createServer().listen(0);
  await once(server, 'listening');
  return server;
}
