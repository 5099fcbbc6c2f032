import net from 'node:net';

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

/** The handle of a socket that listens, or of a connection that Node has accepted. */
export interface ListeningHandle {
  fd: number;
  /** What Node calls for each connection; absent before the handle listens. */
  onconnection?: (this: unknown, error: number, client?: ListeningHandle) => void;
  listen(backlog: number): number;
  close(callback?: () => void): void;
  ref(): void;
  unref(): void;
  hasRef?(): boolean;
  getsockname?(out: object): number;
}

/** Node's own function that creates and binds a listening handle; returns a number for the system's error. */
export const createHandle = (
  net as unknown as {
    _createServerHandle(
      address: string | null,
      port: number | null,
      addressType: number | null,
      fd?: number | undefined,
      flags?: number | undefined,
    ): ListeningHandle | number;
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
