import { closeSync } from 'node:fs';
import net from 'node:net';
import { systemError } from './socket-errors.js';

/** The handle in which Node's own sockets and servers keep their descriptor. */
export interface Handle {
  readonly fd: number;
  reading: boolean;
  close(callback?: () => void): void;
  ref(): void;
  unref(): void;
  [key: symbol]: unknown;
}

/** A handle of Node's own on a connection's descriptor, which it closes; it reads nothing until somebody starts it. */
export function socketHandle(fd: number, owner: { bytesRead: number; bytesWritten: number }) {
  const options = { fd, manualStart: true };
  const holder = new net.Socket(options) as unknown as { _handle: Handle | null };
  const handle = holder._handle as Handle;
  holder._handle = null;
  handOn(handle, owner);
  count(handle, 'bytesRead', () => owner.bytesRead);
  count(handle, 'bytesWritten', () => owner.bytesWritten);
  return handle;
}

/** Sets the owner of a handle. */
function handOn(handle: Handle, owner: object): void {
  const key = Object.getOwnPropertySymbols(handle).find(
    ({ description }) => description === 'owner_symbol',
  );
  if (key) handle[key] = owner;
}

/** Makes the byte counters of a handle continue from these values. */
export function countFrom(handle: Handle, bytesRead: number, bytesWritten: number): void {
  for (const [name, before] of Object.entries({ bytesRead, bytesWritten })) {
    const prototype = Object.getPrototypeOf(handle);
    count(handle, name, () => before + Reflect.get(prototype, name, handle));
  }
}

function count(handle: Handle, name: string, get: () => number): void {
  Object.defineProperty(handle, name, { get, configurable: true });
}

const create = (
  net as unknown as {
    _createServerHandle(address: null, port: number, type: number, fd: number): Handle | number;
  }
)._createServerHandle;

let HandleClass: new (type: number) => Handle;

/**
 * Keeps the class of a handle on a descriptor, for `closingHandle`. The handle of a listening worker of a cluster is not of it:
 * where the primary distributes the connections, it is a plain object.
 */
export function learnFrom(handle: object): void {
  HandleClass = handle.constructor as typeof HandleClass;
}

/** A handle without a descriptor: there is nothing to do with it but to close it. */
export function closingHandle(): Handle {
  return new HandleClass(SOCKET);
}

/** Among the types that Node has for handles of TCP and of pipes. */
const SOCKET = 0;

/**
 * A handle of Node's own on the descriptor of a listening socket, which it closes; it accepts nothing. Where there can be none,
 * the descriptor is closed and the system's error is thrown.
 */
export function listeningHandle(fd: number, like: object): Handle {
  const handle = create(null, 0, 0, fd);
  if (typeof handle === 'number') {
    closeSync(fd);
    throw systemError('listen', handle);
  }
  // Its owner, and what Node calls at a connection.
  for (const key of Reflect.ownKeys(like)) {
    const own = Object.getOwnPropertyDescriptor(like, key) as PropertyDescriptor;
    Object.defineProperty(handle, key, own);
  }
  return handle;
}
