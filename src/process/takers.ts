import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { socketInodes } from './descriptors.js';
import type { Endpoint } from './endpoint.js';
import { networkFolder } from './namespace.js';
import { ESTABLISHED, tcpSockets } from './tcp-table.js';
import { processTree } from './tree.js';

/** Connections that are opened at most: two for each process. */
const MOST = 128;
const PATIENCE_MS = 2000;
const LOOK_MS = 20;
/** Looks that show the same, after which nothing moves any more: a cluster's first process holds a connection until a worker has it. */
const SETTLED = 5;

/**
 * Those of a server's processes that take the connections of its port, as the workers of a cluster do in turn: some are
 * opened, and it is looked who has them. The server's first process where that cannot be seen.
 */
export async function takersOf(server: number, endpoint: Endpoint | null): Promise<number[]> {
  const tree = processTree(server);
  if (endpoint === null || tree.length === 1) return [server];
  const { host, port } = endpoint;
  const count = Math.min(MOST, 2 * tree.length);
  const sockets = Array.from({ length: count }, () => connect(port, host).on('error', () => {}));
  try {
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const clients = new Set(sockets.map(({ localPort }) => localPort ?? 0));
    const takers = await settled(() => holdersOf(tree, port, clients));
    const others = takers.filter((pid) => pid !== server);
    return others.length > 0 ? others : [server];
  } catch {
    // Nobody listens there any more, which is said where it is asked next.
    return [server];
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** What is seen again and again; the last of it when patience ends. */
async function settled(look: () => number[]): Promise<number[]> {
  const until = performance.now() + PATIENCE_MS;
  let [seen, times] = [look(), 1];
  while (times < SETTLED && performance.now() < until) {
    await sleep(LOOK_MS);
    const now = look();
    times = now.join() === seen.join() ? times + 1 : 1;
    seen = now;
  }
  return seen;
}

/** Those of some processes that hold the server's ends of connections from these ports. */
function holdersOf(processes: number[], port: number, clients: Set<number>): number[] {
  const folder = networkFolder(processes[0] ?? null);
  const inodes = new Set<number>();
  for (const table of ['tcp', 'tcp6']) {
    for (const socket of tcpSockets(`${folder}/${table}`)) {
      const { state, localPort, remotePort, inode } = socket;
      if (state === ESTABLISHED && localPort === port && clients.has(remotePort)) inodes.add(inode);
    }
  }
  return processes.filter((pid) => socketInodes(pid)?.some((inode) => inodes.has(inode)));
}
