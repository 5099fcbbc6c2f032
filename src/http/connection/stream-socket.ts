import net from 'node:net';
import { kConnection, kLastWriteQueueSize, kTimeout } from '../node/node-internals.js';
import { systemError } from '../node/socket-errors.js';
import { appendBytes, appendText, flushConnection } from '../sending/output-buffer.js';
import type { Connection, HttpSocket, ListenerMethod } from '../state/connection.js';
import type { Callback } from '../state/send-state.js';
import { createConnectionHandle, openDuplicate } from './handle/connection-handle.js';
import type { Handle } from './handle/handle.js';
import { defineParser } from './lent-parser.js';
import { isWithinTimeout } from './progress.js';

/*
 * The socket of a connection as a `net.Socket` of Node's own: its streams, timers, encodings and states are Node's code, over a
 * handle that passes everything on to the reactor. A native socket becomes one at the first use of a member that is not
 * in its table.
 */

const node = net.Socket.prototype as unknown as {
  _writeGeneric(
    this: HttpSocket,
    writev: boolean,
    data: unknown,
    encoding: string,
    done: Callback,
  ): void;
  _onTimeout(this: HttpSocket): void;
  on(this: HttpSocket, event: string | symbol, listener: unknown): HttpSocket;
  addListener: typeof node.on;
  prependListener: typeof node.on;
};
const construct = net.Socket as unknown as (this: HttpSocket, options: object) => void;
const nodeHandle = Object.getOwnPropertyDescriptor(net.Socket.prototype, '_handle') as {
  get(this: HttpSocket): Handle | null;
  set(this: HttpSocket, handle: object | null): void;
};

interface Chunk {
  chunk: string | Uint8Array;
  encoding: string;
}

/**
 * Writes what the stream gives, as Node's own does, whose result its internals keep. With `writev`, `data` has many chunks, all of
 * them bytes if `allBuffers`.
 */
function writeGeneric(
  this: HttpSocket,
  writev: boolean,
  data: string | Uint8Array | (Chunk[] & { allBuffers?: boolean }),
  encoding: string,
  done: Callback,
): void {
  const connection = this[kConnection];
  if (!this._handle || connection.id < 0) {
    node._writeGeneric.call(this, writev, data, encoding, done);
    return;
  }
  this._unrefTimer();
  if (data === connection.backlog) connection.backlog = null;
  else if (writev)
    for (const { chunk, encoding } of data as Chunk[]) append(connection, chunk, encoding);
  else append(connection, data as string | Uint8Array, encoding);
  flushConnection(connection);
  if (connection.nativeServer.caches) connection.countQueued();
  if (connection.sendError !== 0) done(systemError('write', connection.sendError));
  // Through TLS no write of Node's ends within the call.
  else if (connection.queued === 0 && !connection.nativeServer.isSecure) done();
  else connection.afterWrite(done);
}

function append(connection: Connection, chunk: string | Uint8Array, encoding: string): void {
  if (typeof chunk !== 'string') appendBytes(connection, chunk);
  else if (encoding === 'utf8' || encoding === 'utf-8') appendText(connection, chunk, false);
  else if (encoding === 'latin1' || encoding === 'binary' || encoding === 'ascii') {
    appendText(connection, chunk, true);
  } else appendBytes(connection, Buffer.from(chunk, encoding as BufferEncoding));
}

const members: PropertyDescriptorMap & ThisType<HttpSocket> = {
  _writeGeneric: { value: writeGeneric, writable: true, configurable: true },
  _onTimeout: {
    value() {
      if (!isWithinTimeout(this[kConnection])) node._onTimeout.call(this);
    },
    writable: true,
    configurable: true,
  },
  _handle: {
    get() {
      return nodeHandle.get.call(this);
    },
    set(handle: object | null) {
      const connection = this[kConnection];
      // Whoever takes the handle of an open connection away sends it to another process.
      const before = nodeHandle.get.call(this);
      if (handle === null && before !== null && connection.id >= 0) {
        openDuplicate(before as never);
        connection.nativeServer.detach(connection);
      }
      nodeHandle.set.call(this, handle);
    },
    configurable: true,
  },
};

/** Creates the prototype of the streams of native connections, above `net.Socket.prototype` or one of TLS. */
export function createStreamPrototype(base: object): object {
  return Object.create(base, members);
}

export const LISTENER_METHODS = ['on', 'addListener', 'prependListener'] as const;

/** What Node sets on the socket of a server's connection, so that a listener for its bytes stops the parser from taking them. */
const ownListenerMethods: Record<string, ListenerMethod> = Object.fromEntries(
  LISTENER_METHODS.map((name) => [
    name,
    function socketListenerWrap(this: HttpSocket, event: string | symbol, listener: unknown) {
      if (fallBackForDataListener(this[kConnection], event))
        return this[name](event as string, listener as never);
      return node[name].call(this, event, listener);
    },
  ]),
);

/** The method by which a stream adds listeners, of the stack or of Node's own code that has the connection. */
export function getListenerMethod(
  { nodeListenerMethods }: Connection,
  name: string,
): ListenerMethod | undefined {
  return (nodeListenerMethods ?? ownListenerMethods)[name];
}

/** A listener for bytes is added: Node's own code takes the connection, if it can. Returns whether it has it. */
export function fallBackForDataListener(connection: Connection, event: string | symbol): boolean {
  if (event !== 'data' && event !== 'readable') return false;
  return connection.nativeServer.fallBackForRawData(connection);
}

/** As Node's for sockets of servers. */
export function setEncoding(): never {
  throw Object.assign(
    new Error('Changing the socket encoding is not allowed per RFC7230 Section 3.'),
    { code: 'ERR_HTTP_SOCKET_ENCODING' },
  );
}

/** Makes the socket of a connection a stream, the same object, and returns it. */
export function becomeStream(connection: Connection): HttpSocket {
  const { socket, nativeServer } = connection;
  if (connection.isStream) return socket;
  if (connection.id >= 0) flushConnection(connection);
  const { _events, _eventsCount } = socket;
  // Of the fields that the constructor sets, a native socket has these.
  const { server, _server, _parent, [kTimeout]: timer, [kLastWriteQueueSize]: size } = socket;
  connection.isStream = true;
  Object.setPrototypeOf(socket, nativeServer.streamPrototype);
  construct.call(socket, streamOptions(connection));
  // Node's socket counts its server's connections down when it ends; a stream of HTTP/2 is none.
  const counted = connection.session === null ? _server : null;
  Object.assign(socket, { _events, _eventsCount, server, _server: counted, _parent });
  if (timer) socket[kTimeout] = timer;
  if (size) socket[kLastWriteQueueSize] = size;
  for (const name of LISTENER_METHODS) {
    // Unless the application has replaced it.
    if (!Object.hasOwn(socket, name)) socket[name] = ownListenerMethods[name] as never;
  }
  defineParser(socket, connection);
  Object.assign(socket, { setEncoding });
  if (connection.peer) socket._peername = connection.peer;
  setStates(connection);
  return socket;
}

function streamOptions(connection: Connection): object {
  const { isPaused, nativeContext, nativeServer, noDelay, keepAlive } = connection;
  const { server, streamHighWaterMark } = nativeServer;
  // The handle has the context of the connection, not that of whoever uses the socket.
  const handle =
    connection.id >= 0
      ? nativeContext.runInAsyncScope(createConnectionHandle, undefined, connection)
      : null;
  return {
    handle,
    ...{ allowHalfOpen: server.allowHalfOpen, pauseOnCreate: isPaused },
    readableHighWaterMark: streamHighWaterMark,
    writableHighWaterMark: streamHighWaterMark,
    noDelay: noDelay ?? server.noDelay,
    keepAlive: keepAlive?.enable ?? server.keepAlive,
    keepAliveInitialDelay: keepAlive?.initialDelay ?? server.keepAliveInitialDelay * 1000,
  };
}

interface States {
  _readableState: Record<string, unknown>;
  _writableState: Record<string, unknown>;
}

/** Brings the states of a new stream to where the connection is. */
function setStates(connection: Connection): void {
  const { socket } = connection;
  const { _readableState: readable, _writableState: writable } = socket as unknown as States;
  // Node's listener for 'data' has started it.
  readable.flowing = !connection.isPaused;
  if (connection.readableEnded) {
    readable.ended = readable.endEmitted = true;
    readable.reading = false;
  }
  if (connection.isNativeDestroyed) {
    Object.assign(readable, {
      destroyed: true,
      closed: true,
      closeEmitted: connection.isCloseEmitted,
    });
    Object.assign(writable, {
      destroyed: true,
      closed: true,
      closeEmitted: connection.isCloseEmitted,
    });
    if (connection.writableEnded) Object.assign(writable, { ending: true, ended: true });
    if (connection.writableFinished) writable.finished = true;
    return;
  }
  // Through TLS, what was written waits until the end of the turn.
  const written = connection.nativeServer.isSecure ? connection.bytesSinceDrain : 0;
  const waiting = Math.max(connection.queued, written);
  if (waiting > 0) {
    connection.backlog = Buffer.allocUnsafeSlow(waiting);
    connection.needDrain = false;
    socket.write(connection.backlog);
  }
  for (; connection.corked > 0; connection.corked--) socket.cork();
  if (connection.writableEnded) {
    socket.end();
    if (connection.destroysWhenFinished) socket.once('finish', () => socket.destroy());
  }
}
