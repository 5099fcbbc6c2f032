import http from 'node:http';
import net from 'node:net';
import { untaken } from './batch.js';
import { watchOutcome } from './cache-outdating.js';
import { abortIncoming } from './exchange.js';
import { nodeConnection } from './host-parser.js';
import { input, native } from './native.js';
import { flushAll } from './output.js';
import type { HttpServer, NativeServer } from './server.js';
import { MISDIRECTED, owns } from './sharing.js';
import type { ServerSocket } from './socket.js';

/**
 * Gives a connection to Node's own code: the very socket object becomes an ordinary `net.Socket` on the same
 * descriptor, and what the reactor has read is the first that Node's parser sees: `bytes`, or else `made`, which the
 * application has made up, and what no event was taken of.
 */
export function handOver(
  home: NativeServer,
  socket: ServerSocket,
  bytes: Buffer | null,
  reason: string,
  made: Buffer = NOTHING,
): void {
  if (socket.id < 0) return;
  flushAll();
  if (home.caches) socket.countQueued();
  if (socket.queued > 0) {
    // What has been sent leaves first.
    socket.afterWrite(() => handOver(home, socket, bytes, reason, made));
    return;
  }
  const from = untaken(socket.id);
  if (from === null) return;
  // Node would read later what no request has come of.
  const later = from >= 0 || socket.bytesRead === 0;
  const { fd, told, bytes: kept } = native.stackRelease(socket.id);
  const ahead = from < 0 ? NOTHING : input.subarray(from, told);
  const unread = bytes ?? Buffer.concat([made, ahead, kept]);
  home.forget(socket);
  home.countHandedOver(reason);
  const { server } = socket;
  for (const key of REPLACED) delete (socket as unknown as Record<string, unknown>)[key];
  Object.setPrototypeOf(socket, net.Socket.prototype);
  const ordinary = socket as unknown as OrdinarySocket;
  const options = { fd, allowHalfOpen: true, readable: true, writable: true };
  (net.Socket as unknown as (this: net.Socket, options: object) => void).call(ordinary, options);
  ordinary._server = server;
  nodeConnection.call(countingFrom(home.server, socket.requestsCount), ordinary);
  // Not the one that counts.
  ordinary.server = server;
  countRequests(home, ordinary);
  abortWithin(socket, ordinary);
  if (unread.length === 0) return;
  // Who wants bytes is about to listen for them; what Node would have parsed by now is the parser's alone.
  if (later) process.nextTick(deliver, ordinary, unread);
  else deliver(ordinary, unread);
}

const NOTHING = Buffer.alloc(0);

/** Requests that were unanswered at the hand-over end with the connection. */
export function abortWithin(socket: ServerSocket, ordinary: net.Socket): void {
  if (socket.incoming.length > 0) ordinary.once('close', () => abortIncoming(socket));
}

function deliver(socket: net.Socket, bytes: Buffer): void {
  if (!socket.destroyed) socket.emit('data', bytes);
}

/**
 * The server, for a connection that has had so many requests already: Node's own code counts from one, so it is
 * shown a lower limit.
 */
export function countingFrom(server: HttpServer, requests: number): HttpServer {
  if (requests === 0) return server;
  return Object.create(server, {
    maxRequestsPerSocket: {
      get() {
        const limit = server.maxRequestsPerSocket;
        // Less than one: each is too much; zero would be no limit.
        return limit && limit > 0 ? Math.max(limit - requests, 0.5) : limit;
      },
    },
    emit: {
      value(event: string, ...args: unknown[]) {
        const [, response] = args;
        if (response instanceof http.ServerResponse) {
          // What the response tells the client is the whole.
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
  _server: net.Server;
  server: net.Server;
  parser: Parser | null;
  _httpMessage?: object | null;
}

/** Counts the requests that Node's parser finds on this socket, and keeps away those of others. */
export function countRequests(home: NativeServer, socket: net.Socket): void {
  const { parser } = socket as OrdinarySocket;
  const onIncoming = parser?.onIncoming;
  if (!parser || !onIncoming) return;
  let isOver = false;
  parser.onIncoming = (request, keepAlive) => {
    if (isOver || (home.isShared && !owns(home.id, request))) {
      isOver = true;
      misdirected(socket as OrdinarySocket);
      request.upgrade = false;
      return STOP;
    }
    home.stats.requests.handedOver++;
    if (home.caches) watchOutcome(home, request);
    return onIncoming(request, keepAlive);
  };
}

/** Tells the parser to read no further. */
const STOP = 2;

/** Such a connection cannot move on: its client is to make another. */
function misdirected(socket: OrdinarySocket): void {
  if (socket.writableEnded) return;
  // In the place of another response it would be that one.
  if (socket._httpMessage) socket.destroy();
  else socket.end(MISDIRECTED, () => socket.destroy());
}

/** What a native socket keeps in properties and an ordinary one asks its streams and its handle for. */
const REPLACED = [
  ...['closed', 'readableEnded', 'writableEnded', 'writableFinished', 'bytesRead', 'sent'],
  ...['timeout', '_paused', '_hadError', '_parent', '_handle'],
];
