import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { socketInodes } from '../procfs/descriptors.js';
import { readText } from '../procfs/procfs.js';
import { ESTABLISHED, LISTEN, tcpSockets } from '../procfs/tcp-table.js';
import { networkFolder } from './namespace.js';
import { processTree } from './process-tree.js';
import type { Endpoint } from './types.js';

/** Connections that are opened at most: two for each process. */
const MOST = 128;
const PATIENCE_MS = 2000;
const LOOK_MS = 20;
/** Looks that show the same, after which nothing moves any more: a cluster's first process holds a connection until a worker has it. */
const SETTLED = 5;

/**
 * Those of a server's processes that take the connections of its port, as the workers of a cluster do in turn: some
 * connections are opened, and it is looked who has them, and who shares the socket that listens. Where that cannot be
 * seen, the first process; `null`: that is a cluster's, which takes none itself.
 */
export async function findAcceptingProcesses(
  server: number,
  endpoint: Endpoint | null,
  signal: AbortSignal,
): Promise<number[] | null> {
  const tree = processTree(server);
  const leads = tree.some((pid) => pid !== server && isWorker(pid));
  const own = leads ? null : [server];
  if (endpoint === null || tree.length === 1) return own;
  const { host, port } = endpoint;
  const count = Math.min(MOST, 2 * tree.length);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const sockets = Array.from({ length: count }, () => connect(port, host).on('error', () => {}));
  try {
    await Promise.allSettled(
      sockets.map((socket) => once(socket, 'connect', { signal: patience })),
    );
    signal.throwIfAborted();
    const seen = await settled(() => holdersOf(tree, port, clientPorts(sockets)));
    const takers = seen.filter((pid) => pid !== server || !leads);
    return takers.length > 0 ? takers : own;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** What `node:cluster` starts a worker with. */
function isWorker(pid: number): boolean {
  const environment = readText(`/proc/${pid}/environ`)?.split('\0') ?? [];
  return environment.some((variable) => variable.startsWith('NODE_UNIQUE_ID='));
}

function clientPorts(sockets: Socket[]): Set<number> {
  return new Set(sockets.flatMap(({ localPort }) => localPort ?? []));
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

/** Those of some processes that hold the server's ends of connections from these ports, or listen for further ones. */
function holdersOf(processes: number[], port: number, clients: Set<number>): number[] {
  const folder = networkFolder(processes[0] ?? null);
  const inodes = new Set<number>();
  for (const table of ['tcp', 'tcp6']) {
    for (const { state, localPort, remotePort, inode } of tcpSockets(`${folder}/${table}`)) {
      const isOurs = state === LISTEN || (state === ESTABLISHED && clients.has(remotePort));
      if (localPort === port && isOurs && inode !== 0) inodes.add(inode);
    }
  }
  return processes.filter((pid) => socketInodes(pid)?.some((inode) => inodes.has(inode)));
}
