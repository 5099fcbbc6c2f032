import net from 'node:net';
import { nodeConnection } from './host-parser.js';
import { input, native } from './native.js';
import { flush } from './output.js';
import type { NativeServer } from './server.js';
import type { ServerSocket } from './socket.js';

/** Where the first request of a connection is that is being opened, if its bytes have come with it; -1: they have not. */
let opening = -1;

export function setOpening(offset: number): void {
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
  ordinary.server = server;
  ordinary._server = server;
  nodeConnection.call(server as never, ordinary);
  countRequests(home, ordinary);
  if (unread.length === 0) return;
  // Who wants a connection's bytes while it opens is about to listen for them. Later, what was read is the parser's alone.
  if (opening >= 0) process.nextTick(deliver, ordinary, unread);
  else deliver(ordinary, unread);
}

function deliver(socket: net.Socket, bytes: Buffer): void {
  if (!socket.destroyed) socket.emit('data', bytes);
}

/** What the batch tells of this connection after its opening. */
function untaken(told: number): Buffer {
  return opening < 0 ? input.subarray(0, 0) : input.subarray(opening, told);
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
