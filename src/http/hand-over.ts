import http from 'node:http';
import net from 'node:net';
import { nodeConnection } from './host-parser.js';
import { input, native } from './native.js';
import { flush } from './output.js';
import type { HttpServer, NativeServer } from './server.js';
import type { ServerSocket } from './socket.js';

/**
 * Of the connection that is being opened, where its first request is, if its bytes have come with it, or -1; `null`
 * while none is opened.
 */
let opening: number | null = null;

export function setOpening(offset: number | null): void {
  opening = offset;
}

/**
 * Gives a connection to Node's own code: the very socket object becomes an ordinary `net.Socket` on the same
 * descriptor, and `bytes`, which the reactor has read, are the first that Node's parser sees.
 */
export function handOver(
  home: NativeServer,
  socket: ServerSocket,
  bytes: Buffer | null,
  reason: string,
): void {
  if (socket.id < 0) return;
  flush();
  const { fd, told, bytes: kept } = native.stackRelease(socket.id);
  const unread = bytes ?? Buffer.concat([untaken(told), kept]);
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
  if (unread.length === 0) return;
  // Who wants a connection's bytes while it opens is about to listen for them. Later, what was read is the parser's alone.
  if (opening !== null) process.nextTick(deliver, ordinary, unread);
  else deliver(ordinary, unread);
}

function deliver(socket: net.Socket, bytes: Buffer): void {
  if (!socket.destroyed) socket.emit('data', bytes);
}

/** What the batch tells of this connection after its opening. */
function untaken(told: number): Buffer {
  return opening === null || opening < 0 ? input.subarray(0, 0) : input.subarray(opening, told);
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
  onIncoming: ((request: unknown, keepAlive: boolean) => number) | null;
}

interface OrdinarySocket extends net.Socket {
  _server: net.Server;
  server: net.Server;
  parser: Parser | null;
}

/** Counts the requests that Node's parser finds on this socket. */
export function countRequests(home: NativeServer, socket: object): void {
  const { parser } = socket as { parser: Parser | null };
  const onIncoming = parser?.onIncoming;
  if (!parser || !onIncoming) return;
  parser.onIncoming = (request, keepAlive) => {
    home.stats.requests.handedOver++;
    return onIncoming(request, keepAlive);
  };
}

/** What a native socket keeps in properties and an ordinary one asks its streams and its handle for. */
const REPLACED = [
  ...['closed', 'readableEnded', 'writableEnded', 'writableFinished', 'bytesRead', 'bytesWritten'],
  ...['timeout', '_paused', '_hadError', '_parent', '_handle'],
];
