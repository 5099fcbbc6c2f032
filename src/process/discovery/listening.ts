import { networkInterfaces } from 'node:os';
import { socketInodes } from '../procfs/descriptors.js';
import { hasProcfs, readIds } from '../procfs/procfs.js';
import { canonicalAddress } from '../procfs/tcp-table.js';
import { type Listener, readListeners } from './listeners.js';
import { ancestors, processTree } from './process-tree.js';

/**
 * The pid of the process that answers on a port of this machine. Where several processes hold the port (a cluster, or
 * SO_REUSEPORT), the one they all descend from. `null` if that is unknown: the host is not this machine, the owner is
 * another user's process, or the system has no `/proc`.
 *
 * @param host an address, or `localhost`
 */
export function ownerOfPort(port: number, host: string): number | null {
  if (!hasProcfs) return null;
  const addresses = localAddresses(host);
  if (addresses.length === 0) return null;
  const listeners = readListeners().filter((listener) => listener.port === port);
  for (const address of addresses) {
    const sockets = answering(listeners, address);
    if (sockets.length > 0) return commonOwner(owners(sockets));
  }
  return null;
}

/** A socket that one of a command's processes listens on. */
export interface OwnListener extends Listener {
  /** How many processes are between the command's and the first that has it: 0 for its own. */
  depth: number;
}

/**
 * The TCP sockets that a process and its descendants listen on: first its own, as what it starts serves it, then its
 * children's and so on; of the same depth the lowest port first.
 */
export function listeningSockets(pid: number): OwnListener[] {
  const depths = new Map<number, number>();
  for (const process of processTree(pid)) {
    const above = ancestors(process).indexOf(pid);
    // One that has just left the tree is none of the command's own.
    const depth = process === pid ? 0 : above < 0 ? Number.POSITIVE_INFINITY : above + 1;
    for (const inode of socketInodes(process) ?? []) {
      depths.set(inode, Math.min(depth, depths.get(inode) ?? depth));
    }
  }
  if (depths.size === 0) return [];
  return readListeners()
    .flatMap((listener) => {
      const depth = depths.get(listener.inode);
      return depth === undefined ? [] : [{ ...listener, depth }];
    })
    .sort((a, b) => a.depth - b.depth || a.port - b.port);
}

/** Whether a host (an address, or `localhost`) is this machine. */
export function isThisMachine(host: string): boolean {
  return localAddresses(host).length > 0;
}

/** The addresses of this machine that a host stands for, in the order of trying; none if it is elsewhere. */
function localAddresses(host: string): string[] {
  const address = canonicalAddress(host);
  if (address === 'localhost' || address === '0.0.0.0' || address === '::') {
    return address === '::' ? ['::1', '127.0.0.1'] : ['127.0.0.1', '::1'];
  }
  if (address.startsWith('127.') || address === '::1') return [address];
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return own.some((entry) => canonicalAddress(entry.address) === address) ? [address] : [];
}

/** The sockets that a connection to an address reaches: the kernel prefers the address itself, then its family. */
function answering(listeners: Listener[], address: string): Listener[] {
  const bindings = address.includes(':') ? [address, '::'] : [address, '0.0.0.0', '::'];
  for (const host of bindings) {
    const bound = listeners.filter((listener) => listener.host === host);
    if (bound.length > 0) return bound;
  }
  return [];
}

function owners(sockets: Listener[]): number[] {
  const inodes = new Set(sockets.map((socket) => socket.inode));
  return readIds('/proc').filter((pid) => socketInodes(pid)?.some((inode) => inodes.has(inode)));
}

/**
 * This process and those it descends from (a shell, a supervisor that hands sockets on) are no answer where there is
 * another: the tree of such a one is more than the server.
 */
function commonOwner(owners: number[]): number | null {
  const above = new Set([process.pid, ...ancestors(process.pid)]);
  const below = owners.filter((pid) => !above.has(pid));
  if (below.length === 0) return owners[0] ?? null;
  const [first = [], ...others] = below.map((pid) => [pid, ...ancestors(pid)]);
  const common = first.find((pid) => others.every((line) => line.includes(pid)));
  return common === undefined || above.has(common) ? null : common;
}
