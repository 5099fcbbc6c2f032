import { closeSync } from 'node:fs';
import type http from 'node:http';
import net from 'node:net';
import { watchOutcome } from '../cache/invalidation.js';
import { countFrom, type Handle } from '../connection/handle.js';
import { ServerSocket } from '../connection/socket.js';
import { nodeHttp } from '../install/node-http.js';
import { unreadOffset } from '../reactor/event-batch.js';
import { input, native } from '../reactor/native.js';
import { abandon, abortIncoming } from '../request/exchange.js';
import { flushAll } from '../response/output-buffer.js';
import type { HttpServer, NativeServer } from '../server/native-server.js';
import { MISDIRECTED, owns } from '../sharing/ownership.js';
import { attachParser, type Carried, carry, restore } from './carried-state.js';
import { inPackets } from './node-parser.js';

/** Bytes that start a request; `packet` is the last read, which ends with them. */
export interface Bytes {
  bytes: Buffer;
  packet: Buffer;
}

/**
 * Hands a connection to Node's own code. The socket object itself becomes an ordinary `net.Socket` on the same
 * descriptor. Node's parser first receives what the reactor has read: `bytes`; without them `injected`, which the
 * application pushed into the socket, and the bytes for which no event was emitted.
 *
 * @param reason one of those in docs/reference/stack.md, "Reasons of fallbacks"
 */
export function fallBackToNode(
  nativeServer: NativeServer,
  socket: ServerSocket,
  bytes: Bytes | null,
  reason: string,
  injected: Buffer = NOTHING,
): void {
  if (!hasAllLeft(nativeServer, socket)) {
    socket.afterWrite(() => fallBackToNode(nativeServer, socket, bytes, reason, injected));
    return;
  }
  // Bytes without a request: Node would read them later.
  const from = unreadOffset(socket.nativeId);
  if (from === null) return;
  const later = from >= 0 || (bytes === null && socket.requestIndex === 0);
  const carried = carry(nativeServer, socket, bytes !== null);
  socket.nativeContext.runInAsyncScope(() => {
    const [ordinary, rest] = release(nativeServer, socket, from, reason, carried);
    const unread = bytes?.bytes ?? Buffer.concat([injected, rest]);
    attachParser(
      socket,
      ordinary,
      countingFrom(nativeServer.server, socket.requestsCount),
      carried,
    );
    // The server itself, not the one of `countingFrom`.
    ordinary.server = nativeServer.server;
    countRequests(nativeServer, ordinary);
    abortWithin(socket, ordinary, reason);
    if (unread.length === 0) return;
    // An application that wants the bytes is about to listen for them. Bytes that Node would have parsed by now go to
    // the parser only, even if an earlier request has paused the socket.
    if (carried.paused && bytes === null) ordinary.push(unread);
    else if (later) process.nextTick(deliver, ordinary, [unread]);
    else {
      const parts = inPackets(unread, bytes?.packet);
      nativeServer.inParser(socket, leavesHttp(reason, unread), () => deliver(ordinary, parts));
    }
  });
  endContexts(socket);
}

/** Ends the contexts of a socket that is an ordinary one by now. */
function endContexts(socket: ServerSocket): void {
  ServerSocket.prototype.endContexts.call(socket);
}

/**
 * Hands over a connection of an application that has removed Node's own listener for 'connection': nothing reads it
 * yet.
 */
export function fallBackUnread(nativeServer: NativeServer, socket: ServerSocket): void {
  const from = unreadOffset(socket.nativeId);
  if (from === null) return;
  const carried = carry(nativeServer, socket, false);
  socket.nativeContext.runInAsyncScope(() => {
    const [ordinary, rest] = release(nativeServer, socket, from, 'connection wanted', carried);
    restore(ordinary, carried.own, carried.timeout);
    if (rest.length > 0) ordinary.unshift(rest);
  });
  endContexts(socket);
}

/** Flushes what was written; returns whether all of it has been sent. */
function hasAllLeft(nativeServer: NativeServer, socket: ServerSocket): boolean {
  flushAll();
  if (nativeServer.caches) socket.countQueued();
  return socket.queued === 0;
}

/**
 * Makes the socket an ordinary one. Returns it with the bytes that were read and not parsed: those from `from` on in
 * the input memory.
 */
function release(
  nativeServer: NativeServer,
  socket: ServerSocket,
  from: number,
  reason: string,
  carried: Carried,
): [OrdinarySocket, Buffer] {
  const { server, nativeHandle: handle } = socket;
  const { fd, told: deliveredEnd, bytes: kept, read } = native.stackRelease(socket.nativeId);
  const ahead = from < 0 ? NOTHING : input.subarray(from, deliveredEnd);
  const rest = Buffer.concat([ahead, kept]);
  nativeServer.forget(socket);
  nativeServer.countFallback(reason);
  const { noDelay, keepAlive, keepAliveInitialDelay } = nativeServer.server;
  // Node keeps seconds.
  const ofServer = { on: keepAlive, delayMs: keepAliveInitialDelay * 1000 };
  const { on, delayMs } = socket.keepAlive ?? ofServer;
  const options = {
    ...{ allowHalfOpen: true, readable: true, writable: true, pauseOnCreate: carried.paused },
    // The current values, so that the constructor changes nothing.
    noDelay: socket.noDelay ?? noDelay,
    ...{ keepAlive: on, keepAliveInitialDelay: delayMs },
  };
  for (const key of REPLACED) delete (socket as unknown as Record<string, unknown>)[key];
  Object.setPrototypeOf(socket, net.Socket.prototype);
  const ordinary = socket as unknown as OrdinarySocket;
  const construct = net.Socket as unknown as (this: net.Socket, options: object) => void;
  if (handle !== null) {
    handle.reading = false;
    closeSync(fd);
    construct.call(ordinary, { ...options, handle });
  } else {
    construct.call(ordinary, { ...options, fd });
  }
  if (carried.peer) ordinary._peername = carried.peer;
  countFrom(ordinary._handle, read, carried.bytesWritten);
  ordinary._server = ordinary.server = server;
  if (!carried.referenced) ordinary.unref();
  return [ordinary, rest];
}

const NOTHING = Buffer.alloc(0);

/**
 * Aborts the requests that are unanswered at the fallback when the connection closes. After an upgrade, Node no longer
 * tracks them.
 */
export function abortWithin(socket: ServerSocket, ordinary: net.Socket, reason: string): void {
  if (socket.incoming.length === 0) return;
  if (reason === UPGRADE) abandon(socket);
  else ordinary.once('close', () => abortIncoming(socket));
}

export const UPGRADE = 'upgrade';

/** Whether a connection falls back for a request that is the last of HTTP on it: an upgrade, or CONNECT. */
export function leavesHttp(reason: string, bytes: Buffer | undefined): boolean {
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

export function deliver(socket: net.Socket, parts: Buffer[]): void {
  const { parser } = socket as { parser?: Parser | null };
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
  if (failure) repeatPlace(socket as { parser?: Parser | null }, failure);
}

/**
 * Keeps the `bytesParsed` of a parser's error, which the parser reports again for all later bytes: Node computes it
 * from the memory that it reads into, and these parts were not in it.
 */
function repeatPlace({ parser }: { parser?: Parser | null }, { bytesParsed }: ParseError): void {
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

interface OrdinarySocket extends net.Socket {
  _handle: Handle;
  /** Kept after the handle is closed. */
  _peername?: object;
  _server: net.Server;
  server: net.Server;
  parser: Parser | null;
  _httpMessage?: object | null;
}

/** Counts the requests that Node's parser finds on this socket, and rejects those that another process owns. */
export function countRequests(nativeServer: NativeServer, socket: net.Socket): void {
  const { parser } = socket as OrdinarySocket;
  const onIncoming = parser?.onIncoming;
  if (!parser || !onIncoming) return;
  let isOver = false;
  parser.onIncoming = (request, keepAlive) => {
    if (isOver || (nativeServer.isShared && !owns(nativeServer.id, request))) {
      isOver = true;
      misdirected(socket as OrdinarySocket);
      request.upgrade = false;
      return STOP;
    }
    nativeServer.stats.requests.fallback++;
    if (nativeServer.caches) watchOutcome(nativeServer, request);
    return onIncoming(request, keepAlive);
  };
}

/** Tells the parser to read no further. */
const STOP = 2;

/** Ends a connection whose request another process owns: it cannot move any more, so its client has to open another. */
function misdirected(socket: OrdinarySocket): void {
  if (socket.writableEnded) return;
  // While a response is in progress, the client would take this one for it.
  if (socket._httpMessage) socket.destroy();
  else socket.end(MISDIRECTED, () => socket.destroy());
}

/** Properties of a native socket that an ordinary one reads from its streams and its handle. */
const REPLACED = [
  ...['readableEnded', 'writableEnded', 'writableFinished', 'sent'],
  ...['timeout', '_paused', '_hadError', '_parent'],
];
