import type { AsyncResource } from 'node:async_hooks';
import { drainTicks } from '../install/node-internals.js';
import { native } from '../reactor/native.js';
import { callBack } from '../request/contexts.js';
import { endCutOff } from './cut-off-writes.js';
import { closingHandle } from './handle.js';
import type { ServerSocket } from './socket.js';

/** Destroyed sockets that have not emitted 'close'. */
let closing: ServerSocket[] = [];

/**
 * Emits 'close' of a socket at the same time as Node: when the loop closes handles, after all callbacks of `setImmediate` of
 * this turn.
 */
export function closeLater(socket: ServerSocket): void {
  if (closing.length === 0) closingHandle().close(closeAll);
  closing.push(socket);
}

function closeAll(): void {
  const sockets = closing;
  closing = [];
  for (const socket of sockets) {
    if (socket.isCutOff)
      callAtClose(endCutOff, socket, socket.writeContext ?? socket.nativeContext);
    callAtClose(close, socket, socket.nativeContext);
    socket.endContexts();
  }
}

function callAtClose(
  action: (socket: ServerSocket) => void,
  socket: ServerSocket,
  context: AsyncResource,
): void {
  try {
    callBack(context, action, socket);
    drainTicks();
  } catch (error) {
    native.stackFatal(error);
  }
}

function close(socket: ServerSocket): void {
  socket.isCloseEmitted = true;
  socket.nativeServer.onClose(socket);
}
