import { closeSync, openSync, readSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { pageSize } from './procfs.js';

/** A TCP socket as the kernel's table shows it. */
export interface TcpSocket {
  state: number;
  localPort: number;
  remotePort: number;
  /** Bytes that the peer has not acknowledged. */
  unsent: number;
  /** Bytes that the program has not read; of a listening socket the connections that wait to be accepted. */
  unread: number;
  /** Names the socket under `/proc/P/fd`; 0 for one that no program holds, as before it is accepted. */
  inode: number;
  /** Addresses in their shortest form, IPv4-mapped ones as IPv4: `0.0.0.0` and `::` are every address of the machine. */
  localHost(): string;
  remoteHost(): string;
}

export const ESTABLISHED = 0x01;
export const LISTEN = 0x0a;

/**
 * The sockets of `/proc/net/tcp` or `tcp6`, those that listen first, without those in TIME_WAIT; none if there is no such
 * file. It is read as far as is asked for. To reach the end the kernel walks its whole hash table: 3 ms, however few
 * sockets there are, and 3 us more for each (on a machine whose table has 262 144 entries).
 */
export function* tcpSockets(path: string): Generator<TcpSocket> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    // The kernel gives whole lines, as many as go into a page.
    const block = Buffer.allocUnsafe(pageSize);
    for (;;) {
      const length = readSync(file, block);
      for (const line of block.toString('latin1', 0, length).split('\n')) {
        const socket = line.includes(TIME_WAIT) ? null : parseSocket(line);
        if (socket !== null) yield socket;
      }
      // A block that had room for more was the last: to ask again makes the kernel walk its table again.
      if (length < pageSize - LONGEST_LINE) return;
    }
  } catch {
    // The process whose table it is has ended.
  } finally {
    closeSync(file);
  }
}

const LONGEST_LINE = 256;
/** No other column can hold this. */
const TIME_WAIT = ' 06 ';

// `sl: local remote state tx:rx timer:when retransmits uid timeout inode ...`, all but the last four hexadecimal.
const LINE = /^ *\d+: (\w+):(\w+) (\w+):(\w+) (\w\w) (\w+):(\w+) \w+:\w+ \w+ +\d+ +\d+ (\d+)/;

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
    inode: Number(fields[8]),
    localHost: () => parseAddress(fields[1] ?? ''),
    remoteHost: () => parseAddress(fields[3] ?? ''),
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
