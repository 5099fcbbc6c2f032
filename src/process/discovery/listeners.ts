import { LISTEN, tcpSockets } from '../procfs/tcp-table.js';

/** A TCP socket that listens, as the kernel's table shows it. */
export interface Listener {
  /** Names the socket under `/proc/P/fd`. */
  inode: number;
  /** The address it is bound to, IPv6 in its shortest form: `0.0.0.0` and `::` are every address of the machine. */
  host: string;
  port: number;
}

/** Every listening TCP socket of this machine (more exactly: of this network namespace), over IPv4 and IPv6. */
export function readListeners(): Listener[] {
  return [...readTable('/proc/net/tcp'), ...readTable('/proc/net/tcp6')];
}

function readTable(path: string): Listener[] {
  const listeners: Listener[] = [];
  for (const socket of tcpSockets(path)) {
    // They come first: what follows is not worth the kernel's time.
    if (socket.state !== LISTEN) break;
    const { inode, localPort } = socket;
    listeners.push({ inode, host: socket.localHost(), port: localPort });
  }
  return listeners;
}
