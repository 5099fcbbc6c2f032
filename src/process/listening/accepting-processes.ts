import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findNetworkFolder } from '../discovery/namespace.js';
import { findProcessTree } from '../discovery/process-tree.js';
import { readSocketInodes } from '../procfs/descriptors.js';
import { readText } from '../procfs/procfs.js';
import { ESTABLISHED, LISTEN, readTcpSockets } from '../procfs/tcp-table.js';
import type { Endpoint } from './types.js';

/** Maximum number of test connections: two for each process. */
const MAX_CONNECTIONS = 128;
const TIMEOUT_MS = 2000;
const POLL_MS = 20;
/**
 * Number of equal polls after which the result is stable. A cluster's primary process owns a connection until a worker
 * receives it.
 */
const STABLE_POLLS = 5;

/**
 * Finds the processes of a server that accept the connections to its port, such as the workers of a cluster. It opens
 * some connections and finds out which processes own them, and which share the listening socket. If that cannot be
 * seen, returns the first process, or `null` if that is the primary of a cluster, which accepts none itself.
 */
export async function findAcceptingProcesses(
  server: number,
  endpoint: Endpoint | null,
  signal: AbortSignal,
): Promise<number[] | null> {
  const tree = findProcessTree(server);
  const isPrimary = tree.some((pid) => pid !== server && isClusterWorker(pid));
  const fallback = isPrimary ? null : [server];
  if (endpoint === null || tree.length === 1) return fallback;
  const { host, port } = endpoint;
  const count = Math.min(MAX_CONNECTIONS, 2 * tree.length);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const sockets = Array.from({ length: count }, () => connect(port, host).on('error', () => {}));
  try {
    await Promise.allSettled(sockets.map((socket) => once(socket, 'connect', { signal: timeout })));
    signal.throwIfAborted();
    const owners = await waitUntilStable(() =>
      findSocketOwners(tree, port, findClientPorts(sockets)),
    );
    const accepting = owners.filter((pid) => pid !== server || !isPrimary);
    return accepting.length > 0 ? accepting : fallback;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Whether a process was started by `node:cluster` as a worker. */
function isClusterWorker(pid: number): boolean {
  const environment = readText(`/proc/${pid}/environ`)?.split('\0') ?? [];
  return environment.some((variable) => variable.startsWith('NODE_UNIQUE_ID='));
}

function findClientPorts(sockets: Socket[]): Set<number> {
  return new Set(sockets.flatMap(({ localPort }) => localPort ?? []));
}

/** Polls until the result is stable; returns the last result when the time is up. */
async function waitUntilStable(poll: () => number[]): Promise<number[]> {
  const until = performance.now() + TIMEOUT_MS;
  let [owners, times] = [poll(), 1];
  while (times < STABLE_POLLS && performance.now() < until) {
    await sleep(POLL_MS);
    const now = poll();
    times = now.join() === owners.join() ? times + 1 : 1;
    owners = now;
  }
  return owners;
}

/** Finds the processes that own the server's ends of connections from these ports, or listen on its port. */
function findSocketOwners(processes: number[], port: number, clients: Set<number>): number[] {
  const folder = findNetworkFolder(processes[0] ?? null);
  const inodes = new Set<number>();
  for (const table of ['tcp', 'tcp6']) {
    for (const { state, localPort, remotePort, inode } of readTcpSockets(`${folder}/${table}`)) {
      const isOurs = state === LISTEN || (state === ESTABLISHED && clients.has(remotePort));
      if (localPort === port && isOurs && inode !== 0) inodes.add(inode);
    }
  }
  return processes.filter((pid) => readSocketInodes(pid)?.some((inode) => inodes.has(inode)));
}
