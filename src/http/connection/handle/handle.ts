import net from 'node:net';
import timers from 'node:timers';

/** Node's function, kept in case the application replaces the global one. */
const { setImmediate } = timers;

/** The handle in which Node's own sockets and servers keep their descriptor. */
export interface Handle {
  readonly fd: number;
  reading: boolean;
  open(fd: number): number;
  readStart(): number;
  readStop(): number;
  close(callback?: () => void): void;
  ref(): void;
  unref(): void;
  [key: symbol]: unknown;
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

export type HandleClass = { new (type: number): Handle; readonly prototype: Handle };
let tcp: HandleClass | undefined;
let pipe: HandleClass | undefined;

/**
 * Keeps the class of a handle. The handle of a listening worker of a cluster is of none: where the primary distributes the
 * connections, it is a plain object.
 */
export function learnFrom(handle: object): void {
  if (handle.constructor.name === 'Pipe') pipe = handle.constructor as HandleClass;
  else if (handle.constructor.name === 'TCP') tcp = handle.constructor as HandleClass;
}

/** The class of handles on the descriptors of TCP connections, or of those of Unix sockets. */
export function getHandleClass(isUnix: boolean): HandleClass {
  return ((isUnix ? pipe : tcp) ?? tcp ?? pipe) as HandleClass;
}

/** A handle without a descriptor: there is nothing to do with it but to close it. */
export function closingHandle(): Handle {
  return createClosedHandle(getHandleClass(false));
}

/**
 * Calls back at the end of this turn of the event loop, as `setImmediate` does: but for that Node warns (DEP0097) wherever an
 * application has entered a domain and not left it.
 */
export function atTurnEnd(callback: () => void): void {
  if ((tcp ?? pipe) === undefined) {
    // A worker of a cluster that has had no connection.
    setImmediate(callback);
    return;
  }
  const handle = closingHandle();
  handle.unref();
  handle.close(callback);
}

/** Creates a handle without a descriptor. */
export function createClosedHandle(HandleClass: HandleClass): Handle {
  return new HandleClass(SOCKET);
}

/** Among the types that Node has for handles of TCP and of pipes. */
const SOCKET = 0;
