import { closeSync, openSync, readSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { pageSize } from './procfs.js';

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

/** The address in the one form in which addresses are compared; a name stays as it is. */
export function canonicalAddress(host: string): string {
  const unscoped = host.replace(/%.*$/, '');
  if (!isIPv6(unscoped)) return host;
  const address = new URL(`http://[${unscoped}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address);
  if (mapped === null) return address;
  return mapped
    .slice(1)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

const LISTEN = '0A';
const LONGEST_LINE = 256;

/**
 * The listening sockets come first in the table; reading stops at the first other one, and after a block that had
 * room for more. To go on makes the kernel search its whole hash table again: milliseconds for nothing.
 */
function readTable(path: string): Listener[] {
  const listeners: Listener[] = [];
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return listeners;
  }
  try {
    // The kernel gives whole lines, as many as go into a page.
    const block = Buffer.allocUnsafe(pageSize);
    for (;;) {
      const length = readSync(file, block);
      for (const line of block.toString('latin1', 0, length).split('\n')) {
        const fields = line.trim().split(/\s+/);
        if (fields.length < 10 || fields[0] === 'sl') continue;
        if (fields[3] !== LISTEN) return listeners;
        listeners.push(parseListener(fields));
      }
      if (length < pageSize - LONGEST_LINE) return listeners;
    }
  } finally {
    closeSync(file);
  }
}

function parseListener(fields: string[]): Listener {
  const [address = '', port = ''] = (fields[1] ?? '').split(':');
  return {
    inode: Number(fields[9]),
    host: parseAddress(address),
    port: Number.parseInt(port, 16),
  };
}

/** The table prints 32-bit words in the machine's byte order; every machine that Node runs on here has the low byte first. */
function parseAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((at) => bytes.readUInt16BE(at).toString(16));
  return canonicalAddress(groups.join(':'));
}
