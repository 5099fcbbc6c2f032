import type { Socket } from 'node:net';
import { readInternal } from '../../outbound/undici-internals.js';

/** Open HTTP/1 connections. */
const openSockets = new Set<Socket>();
let isReported = false;

export function rememberConnection(socket: Socket): void {
  openSockets.add(socket);
  socket.once('close', () => openSockets.delete(socket));
}

/**
 * Reports the connection of each request that is on one, at most once per turn. undici could report each request as
 * it is sent, which would cost every call more than everything else done for it; this costs only calls that last.
 */
export function reportConnections(report: (request: object, socket: Socket) => void): void {
  if (isReported) return;
  isReported = true;
  queueMicrotask(() => {
    isReported = false;
  });
  for (const socket of openSockets) {
    for (const request of listRunningRequests(socket)) report(request, socket);
  }
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
