import net from 'node:net';
import { createConnectionHandle } from '../connection/handle/connection-handle.js';
import type { Handle } from '../connection/handle/handle.js';
import { isWithinTimeout } from '../connection/progress.js';
import { kConnection } from '../node/node-internals.js';
import type { HttpSocket } from '../state/connection.js';
import type { Callback } from '../state/send-state.js';
import type { SecureConnection } from './secure-socket.js';

/*
 * The socket below TLS, which listeners for 'connection' of an `https.Server` get: a `net.Socket` of Node's own. Its bytes are
 * TLS records, and the reactor's: nothing can be read from it or written to it.
 */

const nodeOnTimeout = (net.Socket.prototype as unknown as { _onTimeout(this: HttpSocket): void })
  ._onTimeout;
const construct = net.Socket as unknown as (this: HttpSocket, options: object) => void;

const prototype = Object.create(net.Socket.prototype, {
  _writeGeneric: {
    value(_writev: boolean, _data: unknown, _encoding: string, done: Callback) {
      done();
    },
    writable: true,
    configurable: true,
  },
  _onTimeout: {
    value(this: HttpSocket) {
      if (!isWithinTimeout(this[kConnection], this)) nodeOnTimeout.call(this);
    },
    writable: true,
    configurable: true,
  },
});

/** What its handle does otherwise than that of the TLS connection. */
const handleMembers: PropertyDescriptorMap &
  ThisType<Handle & { [kConnection]: SecureConnection }> = {
  readStart: { value: () => 0, writable: true, configurable: true },
  readStop: { value: () => 0, writable: true, configurable: true },
  shutdown: {
    value(request: { oncomplete(status: number): void }) {
      this[kConnection].socket.end();
      process.nextTick(() => request.oncomplete(0));
      return 0;
    },
    writable: true,
    configurable: true,
  },
  close: {
    value(callback?: () => void) {
      // Of two handles libuv closes the later one first: this socket's 'close' comes before that of the one above.
      this[kConnection].socket.destroy();
      closeOfNode(this).call(this, callback);
    },
    writable: true,
    configurable: true,
  },
  reset: {
    value(callback?: () => void) {
      const { socket } = this[kConnection];
      closeOfNode(this).call(this, callback);
      socket.resetAndDestroy();
      return 0;
    },
    writable: true,
    configurable: true,
  },
};

function closeOfNode(handle: object): Handle['close'] {
  const ofConnection = Object.getPrototypeOf(handle);
  return Object.getPrototypeOf(ofConnection).close;
}

/** Creates the socket below a TLS connection. */
export function createRawSocket(connection: SecureConnection): HttpSocket {
  const { nativeServer } = connection;
  const { server } = nativeServer;
  const handle = Object.defineProperties(createConnectionHandle(connection), handleMembers);
  const socket = Object.create(prototype) as HttpSocket;
  construct.call(socket, {
    handle,
    ...{ allowHalfOpen: server.allowHalfOpen, manualStart: true },
    ...{ noDelay: server.noDelay, keepAlive: server.keepAlive },
    keepAliveInitialDelay: server.keepAliveInitialDelay * 1000,
  });
  socket[kConnection] = connection;
  socket.server = server;
  // As the connection is counted once, this is not set: `_server`.
  socket.on('close', onClose).on('error', onError);
  return socket;
}

function onClose(this: HttpSocket): void {
  this[kConnection].socket.destroy();
}

function onError(this: HttpSocket, error: Error): void {
  (this[kConnection] as SecureConnection).onRawError(error);
}

/** Makes the raw socket Node's own again; its handle is to get the descriptor. */
export function releaseRawSocket(socket: HttpSocket): Handle {
  const handle = socket._handle as Handle;
  socket.off('close', onClose).off('error', onError);
  for (const name of Object.keys(handleMembers)) Reflect.deleteProperty(handle, name);
  Object.setPrototypeOf(socket, net.Socket.prototype);
  Reflect.deleteProperty(socket, kConnection);
  return handle;
}
