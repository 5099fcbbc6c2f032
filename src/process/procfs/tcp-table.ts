import { closeSync, openSync, readSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { pageSize } from './procfs.js';

/** A TCP socket in the kernel's table. */
export interface TcpSocket {
  state: number;
  localPort: number;
  remotePort: number;
  /** Bytes that the peer has not acknowledged. */
  unsent: number;
  /** Bytes that the program has not read; for a listening socket the length of its accept queue. */
  unread: number;
  /** The user that created it. */
  uid: number;
  /** Identifies the socket under `/proc/P/fd`; 0 if no program owns it, as before it is accepted. */
  inode: number;
  /**
   * Address in its shortest form, IPv4-mapped ones as IPv4. `0.0.0.0` and `::` stand for every address of the machine.
   */
  localHost(): string;
  remoteHost(): string;
}

export const ESTABLISHED = 0x01;
export const LISTEN = 0x0a;

/**
 * Iterates over the sockets of `/proc/net/tcp` or `tcp6`, listening ones first, without those in TIME_WAIT; none if the
 * file does not exist. The file is read lazily. To reach its end the kernel walks its whole hash table: 3 ms, however
 * few sockets there are, and 3 us more for each (measured with a table of 262,144 entries).
 */
export function* readTcpSockets(path: string): Generator<TcpSocket> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    // The kernel returns whole lines, as many as fit into a page.
    const block = Buffer.allocUnsafe(pageSize);
    for (;;) {
      const length = readSync(file, block);
      for (const line of block.toString('latin1', 0, length).split('\n')) {
        const socket = line.includes(TIME_WAIT) ? null : parseSocket(line);
        if (socket !== null) yield socket;
      }
      // A block that is not full was the last one. Another read would make the kernel walk its table again.
      if (length < pageSize - MAX_LINE_LENGTH) return;
    }
  } catch {
    // The process that owns the table has ended.
  } finally {
    closeSync(file);
  }
}

const MAX_LINE_LENGTH = 256;
/** No other column can contain this. */
const TIME_WAIT = ' 06 ';

// `sl: local remote state tx:rx timer:when retransmits uid timeout inode ...`, hexadecimal except for the last four.
const LINE = /^ *\d+: (\w+):(\w+) (\w+):(\w+) (\w\w) (\w+):(\w+) \w+:\w+ \w+ +(\d+) +\d+ (\d+)/;

function parseSocket(line: string): TcpSocket | null {
  const fields = LINE.exec(line);
  if (fields === null) return null;
  const hexadecimal = (index: number) => Number.parseInt(fields[index] ?? '', 16);
  return {
    state: hexadecimal(5),
    localPort: hexadecimal(2),
    remotePort: hexadecimal(4),
    unsent: hexadecimal(6),
    unread: hexadecimal(7),
    uid: Number(fields[8]),
    inode: Number(fields[9]),
    localHost: () => parseAddress(fields[1] ?? ''),
    remoteHost: () => parseAddress(fields[3] ?? ''),
  };
}

/**
 * Parses an address. The table prints 32-bit words in the machine's byte order, which is little-endian on every
 * supported machine.
 */
function parseAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((at) => bytes.readUInt16BE(at).toString(16));
  return canonicalizeAddress(groups.join(':'));
}

/** Returns an address in canonical form, for comparison; a host name is returned unchanged. */
export function canonicalizeAddress(host: string): string {
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
