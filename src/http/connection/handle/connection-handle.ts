import { AsyncResource } from 'node:async_hooks';
import { closeSync } from 'node:fs';
import timers from 'node:timers';
import { drainTicks, kConnection } from '../../node/node-internals.js';
import { callBack } from '../../reactor/contexts.js';
import { native } from '../../reactor/native.js';
import type { Connection } from '../../state/connection.js';
import { endCutOff } from './cut-off-writes.js';
import { createClosedHandle, getHandleClass, type Handle, type HandleClass } from './handle.js';

/** Node's function, kept in case the application replaces the global one. */
const { setImmediate } = timers;

/** As libuv numbers it. */
const UV_EBADF = -9;

type Address = { address: string; family: string; port: number } | undefined;

/** Node's request to end our side. */
interface ShutdownRequest {
  oncomplete(status: number): void;
}

interface Self extends Handle {
  [kConnection]: Connection;
}

/**
 * What the handle of a native connection's stream does: Node's code for sockets reads, writes and closes by it as by a handle of
 * libuv, and it passes that on to the reactor. Writing has no method here: Node's own would ask its internals how much was
 * written (see `writeGeneric` in stream-socket.ts).
 */
const members: PropertyDescriptorMap & ThisType<Self> = {
  isStreamBase: { value: false },
  fd: {
    get() {
      openDuplicate(this);
      return Reflect.get(nodePrototype(this), 'fd', this);
    },
  },
  bytesRead: {
    get() {
      return this[kConnection].bytesRead;
    },
  },
  bytesWritten: {
    get() {
      return this[kConnection].bytesWritten;
    },
  },
  writeQueueSize: {
    get() {
      const connection = this[kConnection];
      connection.countQueued();
      return connection.queued;
    },
  },
  readStart: method(function () {
    if (this[kConnection].isPaused) this[kConnection].setPaused(false);
    return 0;
  }),
  readStop: method(function () {
    if (!this[kConnection].isPaused) this[kConnection].setPaused(true);
    return 0;
  }),
  getpeername: method(function (out: object) {
    return copyAddress(this[kConnection].openRemote, out);
  }),
  getsockname: method(function (out: object) {
    return copyAddress(this[kConnection].local, out);
  }),
  setNoDelay: method(function (on: boolean) {
    this[kConnection].setNoDelay(on);
    return 0;
  }),
  /** Seconds. */
  setKeepAlive: method(function (on: boolean, after: number, apart?: number, count?: number) {
    const [initialDelay, interval] = [after * 1000, apart === undefined ? apart : apart * 1000];
    this[kConnection].setKeepAlive({ enable: on, initialDelay, interval, count });
    return 0;
  }),
  // What only Node's own handles know, on a descriptor of its own.
  getTypeOfService: onDuplicate('getTypeOfService'),
  setTypeOfService: onDuplicate('setTypeOfService'),
  ref: method(function () {
    this[kConnection].setReferenced(true);
  }),
  unref: method(function () {
    this[kConnection].setReferenced(false);
  }),
  hasRef: method(function () {
    return this[kConnection].isReferenced;
  }),
  shutdown: method(function (request: ShutdownRequest) {
    const connection = this[kConnection];
    if (connection.nativeServer.caches) connection.countQueued();
    const context = new AsyncResource('SHUTDOWNWRAP');
    const complete = () => context.runInAsyncScope(() => request.oncomplete(0));
    connection.afterWrite(() => {
      if (connection.id >= 0) native.stackEnd(connection.id);
      // libuv completes it in the loop's next iteration.
      setImmediate(complete);
    });
    return 0;
  }),
  close: method(function (callback?: () => void) {
    closeConnection(this, false, callback);
  }),
  reset: method(function (callback?: () => void) {
    closeConnection(this, true, callback);
    return 0;
  }),
};

function method<A extends never[]>(value: (this: Self, ...args: A) => unknown): PropertyDescriptor {
  return { value, writable: true, configurable: true };
}

function onDuplicate(name: string): PropertyDescriptor {
  return method(function (...args: never[]) {
    openDuplicate(this);
    const ofNode = nodePrototype(this) as unknown as Record<string, (...args: never[]) => number>;
    return ofNode[name]?.apply(this, args);
  });
}

function copyAddress(address: Address, out: object): number {
  if (address === undefined) return UV_EBADF;
  Object.assign(out, address);
  return 0;
}

/** Opens the handle on a descriptor of its own, for whoever asks for the number or sends the handle to another process. */
export function openDuplicate(handle: Self): void {
  const prototype = nodePrototype(handle);
  const { id, session } = handle[kConnection];
  // A stream of HTTP/2 has none.
  if (id >= 0 && session === null && (Reflect.get(prototype, 'fd', handle) as number) < 0) {
    prototype.open.call(handle, native.stackDuplicateConnection(id));
  }
}

function closeConnection(handle: Self, reset: boolean, callback?: () => void): void {
  const connection = handle[kConnection];
  const { nativeServer, socket } = connection;
  if (connection.id >= 0) {
    // A client that is still sending gets what was written.
    const hasFailed = connection.failed || connection.lateRequest >= 0;
    if (socket.errored && hasFailed && !reset) native.stackEnd(connection.id);
    connection.closeStream(reset, socket.errored);
  }
  nodePrototype(handle).close.call(handle, () => {
    connection.isCloseEmitted = true;
    if (connection.isCutOff) {
      const context = connection.writeContext ?? connection.nativeContext;
      callBack(context, endCutOff, connection, socket.errored);
      drainTicks();
    }
    try {
      connection.transportContext.runInAsyncScope(() => {
        nativeServer.beforeClose(connection);
        callback?.();
      });
    } finally {
      nativeServer.dropPending(connection);
      connection.endContexts();
    }
  });
  connection.closeBelow();
}

/** The prototype of Node's own that a handle has above `members`. */
function nodePrototype(handle: object): Handle {
  return Object.getPrototypeOf(Object.getPrototypeOf(handle));
}

const prototypes = new Map<HandleClass, object>();

/** Creates the handle of a connection's stream. */
export function createConnectionHandle(connection: Connection): Handle {
  const HandleClass = getHandleClass(connection.nativeServer.isUnix);
  const handle = createClosedHandle(HandleClass);
  let prototype = prototypes.get(HandleClass);
  if (prototype === undefined) {
    prototype = Object.create(HandleClass.prototype, members) as object;
    prototypes.set(HandleClass, prototype);
  }
  Object.setPrototypeOf(handle, prototype);
  return Object.assign(handle, { [kConnection]: connection, reading: !connection.isPaused });
}

/** Makes the handle Node's own: it has the connection's descriptor. */
export function openAsNodes(handle: Handle, fd: number): void {
  const prototype = nodePrototype(handle);
  const hasDuplicate = (Reflect.get(prototype, 'fd', handle) as number) >= 0;
  Object.setPrototypeOf(handle, prototype);
  if (hasDuplicate) closeSync(fd);
  else handle.open(fd);
}
