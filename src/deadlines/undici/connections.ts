import type { Socket } from 'node:net';
import { internal } from '../../outbound/undici-internals.js';

/** Connections of HTTP/1 that are open. */
const open = new Set<Socket>();
let areFound = false;

export function rememberConnection(socket: Socket): void {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
}

/**
 * The connections of all requests that are on one, told to each. undici would tell each as it is sent, which costs
 * every call more than all else that is done for it; this costs those that last, and those of a turn together.
 */
export function findConnections(tell: (request: object, socket: Socket) => void): void {
  if (areFound) return;
  areFound = true;
  queueMicrotask(() => {
    areFound = false;
  });
  for (const socket of open) {
    for (const request of runningOn(socket)) tell(request, socket);
  }
}

/** A client keeps all its requests in one queue: those that have ended, those that were sent, those that wait. */
function runningOn(socket: Socket): object[] {
  const client = internal(socket, 'client');
  if (typeof client !== 'object' || client === null) return [];
  const queue = internal(client, 'queue');
  const [from, to] = [internal(client, 'running index'), internal(client, 'pending index')];
  if (!Array.isArray(queue) || typeof from !== 'number' || typeof to !== 'number') return [];
  return queue.slice(from, to).filter((request) => typeof request === 'object' && request !== null);
}
