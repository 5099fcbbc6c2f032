import timers from 'node:timers';
import { kTimeout } from '../node/node-internals.js';
import { native } from '../reactor/native.js';
import type { Connection, HttpSocket } from '../state/connection.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setTimeout, clearTimeout } = timers;

/** A timer of `socket.setTimeout`: when it was started last, in milliseconds of the event loop. */
type SocketTimer = { readonly _idleStart: number } | null | undefined;

/**
 * Called when a socket's timer fires. Node restarts it with all bytes that arrive, the stack with those that JavaScript sees. Returns
 * whether there was progress within the timeout; then `_onTimeout` is called again when the rest of it has passed. While
 * bytes wait to be sent, Node's own code decides by their number.
 */
export function isWithinTimeout(
  connection: Connection,
  socket: HttpSocket = connection.socket,
): boolean {
  const { id, nativeServer } = connection;
  if (id < 0) return false;
  // The process that a connection is relayed to measures its times.
  if (nativeServer.isShared && native.stackIsRelayed(id)) {
    socket._unrefTimer();
    return true;
  }
  connection.countQueued();
  if (connection.queued > 0) return false;
  const idleMs = native.stackIdleFor(id);
  const restMs = (socket.timeout ?? 0) - (idleMs ?? Number.POSITIVE_INFINITY);
  if (restMs <= 0) return false;
  const timer = socket[kTimeout] as SocketTimer;
  const startedAt = timer?._idleStart;
  clearProgressTimer(socket);
  const progressTimer = setTimeout(() => {
    progressTimers.delete(socket);
    // It runs again otherwise.
    if ((socket[kTimeout] as SocketTimer)?._idleStart === startedAt) socket._onTimeout();
  }, Math.ceil(restMs)).unref();
  progressTimers.set(socket, progressTimer);
  return true;
}

/** Fire when the timeout of a socket has passed since the last progress that JavaScript did not see. */
const progressTimers = new WeakMap<HttpSocket, NodeJS.Timeout>();

export function clearProgressTimer(socket: HttpSocket): void {
  clearTimeout(progressTimers.get(socket));
  progressTimers.delete(socket);
}
