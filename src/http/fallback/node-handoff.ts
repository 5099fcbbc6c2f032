import type http from 'node:http';
import net from 'node:net';
import { watchOutcome } from '../cache/invalidation.js';
import { openAsNodes } from '../connection/handle/connection-handle.js';
import { countFrom, type Handle } from '../connection/handle/handle.js';
import { freeParser } from '../connection/lent-parser.js';
import { restoreListeners, streamEnd } from '../connection/replaced-listeners.js';
import { becomeStream, getListenerMethod, LISTENER_METHODS } from '../connection/stream-socket.js';
import { nodeHttp } from '../node/node-http.js';
import { type HttpServer, kTimeout, nodeConnection } from '../node/node-internals.js';
import { unreadOffset } from '../reactor/event-batch.js';
import { input, native } from '../reactor/native.js';
import { abortIncoming, dropPending, resetTimeout } from '../request/exchange.js';
import { flushAll } from '../sending/output-buffer.js';
import { MISDIRECTED, owns } from '../sharing/ownership.js';
import type { Bytes, Connection, HttpSocket, NativeServer } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';
import { inPackets } from './node-parser.js';

/**
 * Hands a connection to Node's own code: the socket, which becomes a stream, gets the descriptor. Node's parser first receives what
 * the reactor has read: `bytes`; without them `injected`, which the application pushed into the socket, and the bytes for
 * which no event was emitted.
 */
export function fallBackToNode(
  nativeServer: NativeServer,
  connection: Connection,
  bytes: Bytes | null,
  reason: FallbackReason,
  injected: Buffer = NOTHING,
): void {
  if (!flushAndCheck(connection)) {
    connection.afterWrite(() => fallBackToNode(nativeServer, connection, bytes, reason, injected));
    return;
  }
  // Without a request among the bytes: Node would read them later.
  const from = unreadOffset(connection.id);
  if (from === null) return;
  const later = from >= 0 || (bytes === null && connection.requestIndex === 0);
  const { isPaused } = connection;
  connection.nativeContext.runInAsyncScope(() => {
    const socket = becomeStream(connection);
    if (connection.isKeepAliveTimeout || (bytes !== null && socket.timeout)) {
      resetTimeout(connection);
    }
    const rest = giveDescriptor(connection, from, reason);
    const unread = bytes?.bytes ?? Buffer.concat([injected, rest]);
    attachParser(connection, countingFrom(nativeServer.server, connection.requestsCount));
    countRequests(nativeServer, socket);
    abortWithin(connection, reason);
    startReading(socket, isPaused);
    if (unread.length === 0) return;
    // An application that wants the bytes is about to listen for them. Bytes that Node would have parsed by now go to
    // the parser alone, even if an earlier request has paused the socket.
    if (isPaused && bytes === null) socket.push(unread);
    else if (later) process.nextTick(deliver, socket, [unread]);
    else {
      const parts = inPackets(unread, bytes?.packet);
      nativeServer.inParser(connection, leavesHttp(reason, unread), () => deliver(socket, parts));
    }
  });
  connection.endContexts();
}

/**
 * Hands over a connection that Node's own code is to serve from its first byte on, or whose application has removed Node's own
 * listener for 'connection': nothing reads it yet.
 */
export function fallBackUnread(connection: Connection, reason: FallbackReason): void {
  const from = unreadOffset(connection.id);
  if (from === null) return;
  connection.nativeContext.runInAsyncScope(() => {
    const socket = becomeStream(connection);
    for (const name of OWN) Reflect.deleteProperty(socket, name);
    socket._events = Object.assign(Object.create(null), { end: streamEnd }) as never;
    socket._eventsCount = 1;
    (socket as unknown as { _readableState: { flowing: null } })._readableState.flowing = null;
    const rest = giveDescriptor(connection, from, reason);
    startReading(socket, false);
    if (rest.length > 0) socket.unshift(rest);
  });
  connection.endContexts();
}

/** What Node's listener for 'connection' sets. */
const OWN = ['on', 'addListener', 'prependListener', 'setEncoding', 'parser', '_paused'];

/** Flushes what was written; returns whether all of it has been sent. */
function flushAndCheck(connection: Connection): boolean {
  flushAll();
  if (connection.nativeServer.caches) connection.countQueued();
  return connection.queued === 0;
}

/**
 * Gives the stream of a connection the descriptor. Returns the bytes that were read and not parsed: those from `from` on in
 * the input memory.
 */
function giveDescriptor(connection: Connection, from: number, reason: FallbackReason): Buffer {
  const { nativeServer, socket, bytesWritten } = connection;
  const handle = socket._handle as Handle;
  const { fd, told: deliveredEnd, bytes: kept, read } = native.stackRelease(connection.id);
  const ahead = from < 0 ? NOTHING : input.subarray(from, deliveredEnd);
  const rest = Buffer.concat([ahead, kept]);
  const { isReferenced } = connection;
  nativeServer.unregister(connection);
  nativeServer.countFallback(reason);
  connection.isFallback = true;
  openAsNodes(handle, fd);
  if (!isReferenced) handle.unref();
  countFrom(handle, read, bytesWritten);
  Object.setPrototypeOf(socket, net.Socket.prototype);
  return rest;
}

/** Starts the reading of a handle that has got a descriptor. */
export function startReading(socket: HttpSocket, isPaused: boolean): void {
  const handle = socket._handle as Handle | null;
  if (handle === null) return;
  handle.reading = !isPaused;
  if (!isPaused) handle.readStart();
}

/** Gives the stream of a connection to Node's parser; its listeners and its running timer stay. */
export function attachParser(connection: Connection, server: HttpServer): void {
  const { socket } = connection;
  const { _events: before, timeout } = socket;
  const timer = socket[kTimeout];
  socket[kTimeout] = null;
  // Wrappers of the application call what is there now.
  const wrappers = Object.fromEntries(
    LISTENER_METHODS.filter((name) => socket[name] !== getListenerMethod(connection, name)).map(
      (name) => [name, socket[name]],
    ),
  );
  freeParser(connection);
  for (const name of OWN) Reflect.deleteProperty(socket, name);
  socket._events = Object.assign(Object.create(null), { end: streamEnd }) as never;
  socket._eventsCount = 1;
  connection.inContext(() => nodeConnection.call(server, socket as never));
  const { on, addListener, prependListener } = socket;
  connection.nodeListenerMethods = { on, addListener, prependListener } as never;
  Object.assign(socket, wrappers);
  // The server itself, not the one of `countingFrom`.
  socket.server = connection.nativeServer.server;
  restoreListeners(connection, before);
  // Stops a timer that Node has started just now.
  if (socket.timeout) socket.setTimeout(0);
  Object.assign(socket, { [kTimeout]: timer, timeout });
  for (const event of ['data', 'readable']) {
    if (socket._events[event] !== connection.nodeListeners?.[event]) listenAgain(socket, event);
  }
}

/** Repeats the addition of a listener for bytes, which Node's code now has to notice. */
function listenAgain(socket: HttpSocket, event: string): void {
  if (socket.listenerCount(event) === 0) return;
  const listener = () => {};
  socket.on(event, listener);
  socket.removeListener(event, listener);
}

const NOTHING = Buffer.alloc(0);

/**
 * Aborts the requests that are unanswered at the fallback when the connection closes: as in Node's own code, before their
 * responses hear of it. After an upgrade, Node no longer tracks them.
 */
export function abortWithin(connection: Connection, reason: FallbackReason): void {
  if (connection.incoming.length === 0) return;
  if (reason === UPGRADE) dropPending(connection);
  else connection.socket.prependOnceListener('close', () => abortIncoming(connection));
}

export const UPGRADE = 'upgrade' satisfies FallbackReason;

/** Whether a connection falls back for a request that is the last of HTTP on it: an upgrade, or CONNECT. */
export function leavesHttp(reason: FallbackReason, bytes: Buffer | undefined): boolean {
  return reason === UPGRADE || bytes?.toString('latin1', 0, CONNECT.length) === CONNECT;
}

const CONNECT = 'CONNECT ';

/** Node's parser, which reports how it parsed the bytes of the handle. */
interface Parser {
  constructor: { kOnExecute?: number };
  execute(this: Parser, bytes: Buffer): number | ParseError;
  [callback: number]: (outcome: number | ParseError) => void;
}

type ParseError = Error & { bytesParsed: number };

export function deliver(socket: HttpSocket, parts: Buffer[]): void {
  const parser = socket.parser as Parser | null;
  let failure: ParseError | null = null;
  if (parser) {
    const { execute } = parser;
    parser.execute = (bytes) => {
      const outcome = execute.call(parser, bytes);
      if (outcome instanceof Error) failure ??= outcome;
      return outcome;
    };
  }
  try {
    for (const bytes of parts) if (!socket.destroyed) socket.emit('data', bytes);
  } finally {
    // Node keeps parsers for other connections.
    if (parser) delete (parser as Partial<Parser>).execute;
  }
  if (failure) repeatPlace(socket.parser as Parser | null, failure);
}

/**
 * Keeps the `bytesParsed` of a parser's error, which the parser reports again for all later bytes: Node computes it
 * from the memory that it reads into, and these parts were not in it.
 */
function repeatPlace(parser: Parser | null, { bytesParsed }: ParseError): void {
  const index = parser?.constructor.kOnExecute;
  if (!parser || index === undefined) return;
  const callback = parser[index];
  if (!callback) return;
  parser[index] = (outcome) => {
    callback(outcome instanceof Error ? Object.assign(outcome, { bytesParsed }) : outcome);
  };
}

/**
 * Returns the server as seen by a connection that has had `requests` requests already: Node's own code counts from one,
 * so `maxRequestsPerSocket` is lower by them.
 */
export function countingFrom(server: HttpServer, requests: number): HttpServer {
  if (requests === 0) return server;
  return Object.create(server, {
    maxRequestsPerSocket: {
      get() {
        const limit = server.maxRequestsPerSocket;
        // Below one, so that each request exceeds it; zero would mean no limit.
        return limit && limit > 0 ? Math.max(limit - requests, 0.5) : limit;
      },
    },
    emit: {
      value(event: string, ...args: unknown[]) {
        const [, response] = args;
        if (response instanceof nodeHttp.ServerResponse) {
          // The response reports the unreduced limit to the client.
          Object.assign(response, { _maxRequestsPerSocket: server.maxRequestsPerSocket });
        }
        return server.emit(event, ...args);
      },
    },
  });
}

interface Parser {
  onIncoming:
    | ((request: http.IncomingMessage & { upgrade?: boolean }, keepAlive: boolean) => number)
    | null;
}

/** Counts the requests that Node's parser finds on this socket, and rejects those that another process owns. */
export function countRequests(nativeServer: NativeServer, socket: HttpSocket): void {
  const parser = socket.parser as Parser | null;
  const onIncoming = parser?.onIncoming;
  if (!parser || !onIncoming) return;
  let isOver = false;
  parser.onIncoming = (request, keepAlive) => {
    if (isOver || (nativeServer.isShared && !owns(nativeServer.id, request))) {
      isOver = true;
      misdirected(socket);
      request.upgrade = false;
      return STOP;
    }
    nativeServer.stats.requests.fallback++;
    if (nativeServer.caches) watchOutcome(nativeServer, request);
    return onIncoming(request, keepAlive);
  };
}

/** Makes the parser read no further. */
const STOP = 2;

/** Ends a connection whose request another process owns: it cannot move any more, so its client has to open another. */
function misdirected(socket: HttpSocket): void {
  if (socket.writableEnded) return;
  // While a response is in progress, the client would take this one for it.
  if (socket._httpMessage) socket.destroy();
  else socket.end(MISDIRECTED, () => socket.destroy());
}
