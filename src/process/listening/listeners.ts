import { LISTEN, readTcpSockets } from '../procfs/tcp-table.js';

/** A listening TCP socket in the kernel's table. */
export interface Listener {
  /** Identifies the socket under `/proc/P/fd`. */
  inode: number;
  /**
   * Address to which it is bound, IPv6 in its shortest form. `0.0.0.0` and `::` stand for every address of the machine.
   */
  host: string;
  port: number;
  /** The user that created it. */
  uid: number;
}

/** Reads every listening TCP socket of this network namespace, over IPv4 and IPv6. */
export function readListeners(): Listener[] {
  return [...readTable('/proc/net/tcp'), ...readTable('/proc/net/tcp6')];
}

function readTable(path: string): Listener[] {
  const listeners: Listener[] = [];
  for (const socket of readTcpSockets(path)) {
    // Listening sockets come first; reading on would cost time.
    if (socket.state !== LISTEN) break;
    const { inode, uid, localPort } = socket;
    listeners.push({ inode, uid, host: socket.localHost(), port: localPort });
  }
  return listeners;
}
