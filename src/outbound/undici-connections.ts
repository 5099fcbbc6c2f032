import type { Socket } from 'node:net';
import { countUnsentBytes } from './byte-counts.js';
import { readInternal } from './undici-internals.js';

/** Open HTTP/1 connections of undici. */
const openSockets = new Set<Socket>();
/** The connection of each request that is on one, read at most once per turn; `null`: not in this turn. */
let socketsByRequest: Map<object, Socket> | null = null;

export function rememberConnection(socket: Socket): void {
  if (openSockets.has(socket)) return;
  openSockets.add(socket);
  socket.once('close', () => openSockets.delete(socket));
}

/**
 * Finds the connection that a request is on. undici could report each request as it is sent, which would cost every
 * call more than everything else done for it; this costs only calls that last.
 */
export function findConnection(request: object): Socket | undefined {
  socketsByRequest ??= readConnections();
  return socketsByRequest.get(request);
}

function readConnections(): Map<object, Socket> {
  queueMicrotask(() => {
    socketsByRequest = null;
  });
  const found = new Map<object, Socket>();
  for (const socket of openSockets) {
    for (const request of listRunningRequests(socket)) found.set(request, socket);
  }
  return found;
}

/** Lists the requests on a connection. A client keeps all requests in one queue: ended, sent, waiting. */
function listRunningRequests(socket: Socket): object[] {
  const client = readInternal(socket, 'client');
  if (typeof client !== 'object' || client === null) return [];
  const queue = readInternal(client, 'queue');
  const [from, to] = [readInternal(client, 'running index'), readInternal(client, 'pending index')];
  if (!Array.isArray(queue) || typeof from !== 'number' || typeof to !== 'number') return [];
  return queue.slice(from, to).filter((request) => typeof request === 'object' && request !== null);
}

/** Whether the peer has received all that the application has written so far, and more is to come. */
export function isWaitingToWrite(socket: Socket): boolean {
  return readInternal(socket, 'writing') === true && countUnsentBytes(socket) === 0;
}

/** Whether the application does not read what has arrived. */
export function isReadingPaused(socket: Socket): boolean {
  const parser = readInternal(socket, 'parser') as { paused?: boolean } | null | undefined;
  return parser?.paused === true || socket.readableLength > 0;
}
