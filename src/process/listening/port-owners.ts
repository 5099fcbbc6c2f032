import { networkInterfaces } from 'node:os';
import { findAncestors, findProcessTree } from '../discovery/process-tree.js';
import { readSocketInodes } from '../procfs/descriptors.js';
import { hasProcfs, readIds } from '../procfs/procfs.js';
import { canonicalizeAddress } from '../procfs/tcp-table.js';
import { type Listener, readListeners } from './listeners.js';

/**
 * Finds the process that answers on a port of this machine. If several processes own the port (a cluster, or
 * SO_REUSEPORT), returns their common ancestor. `null` if that is unknown: the host is not this machine, the owner is
 * another user's process, or the system has no `/proc`.
 *
 * @param host an address, or `localhost`
 */
export function findPortOwner(port: number, host: string): number | null {
  const sockets = findReachedListeners(port, host);
  return sockets.length > 0 ? findCommonAncestor(findOwners(sockets)) : null;
}

/**
 * Finds the user whose process answers on a port of this machine, also if this user may not see that process; `null` if
 * that is unknown.
 *
 * @param host an address, or `localhost`
 */
export function findPortUser(port: number, host: string): number | null {
  return findReachedListeners(port, host)[0]?.uid ?? null;
}

/** Finds the sockets of this machine that a connection reaches; none if it is another machine. */
function findReachedListeners(port: number, host: string): Listener[] {
  if (!hasProcfs) return [];
  const addresses = findLocalAddresses(host);
  if (addresses.length === 0) return [];
  const listeners = readListeners().filter((listener) => listener.port === port);
  const reached = addresses.map((address) => selectReached(listeners, address));
  return reached.find((sockets) => sockets.length > 0) ?? [];
}

/** A socket on which one of a command's processes listens. */
export interface OwnListener extends Listener {
  /** Number of generations between the command's process and the first process that owns it: 0 for its own sockets. */
  depth: number;
}

/**
 * Finds the TCP sockets on which a process and its descendants listen: its own first, then those of its children and so
 * on; within a generation the lowest port first.
 */
export function findListeningSockets(pid: number): OwnListener[] {
  const depths = new Map<number, number>();
  for (const process of findProcessTree(pid)) {
    const above = findAncestors(process).indexOf(pid);
    // A process that has just left the tree does not count as the command's own.
    const depth = process === pid ? 0 : above < 0 ? Number.POSITIVE_INFINITY : above + 1;
    for (const inode of readSocketInodes(process) ?? []) {
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
  return findLocalAddresses(host).length > 0;
}

/** The addresses of this machine for a host, in the order in which they are tried; empty if it is another machine. */
function findLocalAddresses(host: string): string[] {
  const address = canonicalizeAddress(host);
  if (address === 'localhost' || address === '0.0.0.0' || address === '::') {
    return address === '::' ? ['::1', '127.0.0.1'] : ['127.0.0.1', '::1'];
  }
  if (address.startsWith('127.') || address === '::1') return [address];
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return own.some((entry) => canonicalizeAddress(entry.address) === address) ? [address] : [];
}

/**
 * The sockets that a connection to an address reaches. The kernel prefers the address itself, then the wildcard of its
 * family.
 */
function selectReached(listeners: Listener[], address: string): Listener[] {
  const bindings = address.includes(':') ? [address, '::'] : [address, '0.0.0.0', '::'];
  for (const host of bindings) {
    const bound = listeners.filter((listener) => listener.host === host);
    if (bound.length > 0) return bound;
  }
  return [];
}

function findOwners(sockets: Listener[]): number[] {
  const inodes = new Set(sockets.map((socket) => socket.inode));
  return readIds('/proc').filter((pid) =>
    readSocketInodes(pid)?.some((inode) => inodes.has(inode)),
  );
}

/**
 * Finds the closest common ancestor of the owners. This process and its ancestors (a shell, a supervisor that passes
 * sockets on) are excluded if there are other owners: their tree contains more than the server.
 */
function findCommonAncestor(owners: number[]): number | null {
  const above = new Set([process.pid, ...findAncestors(process.pid)]);
  const below = owners.filter((pid) => !above.has(pid));
  if (below.length === 0) return owners[0] ?? null;
  const [first = [], ...others] = below.map((pid) => [pid, ...findAncestors(pid)]);
  const common = first.find((pid) => others.every((line) => line.includes(pid)));
  return common === undefined || above.has(common) ? null : common;
}
