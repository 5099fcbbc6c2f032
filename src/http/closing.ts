import { callBack } from './contexts.js';
import { closingHandle } from './handle.js';
import { drainTicks } from './internals.js';
import { native } from './native.js';
import { endCutOff, type ServerSocket } from './socket.js';

/** Sockets that are destroyed and have not said that they are closed. */
let closing: ServerSocket[] = [];

/**
 * Says that a socket is closed where Node's own would: when the loop closes handles, which is behind all that
 * `setImmediate` was given in this turn.
 */
export function closeLater(socket: ServerSocket): void {
  if (closing.length === 0) closingHandle().close(closeAll);
  closing.push(socket);
}

function closeAll(): void {
  const sockets = closing;
  closing = [];
  for (const socket of sockets) {
    if (socket.isCutOff) tell(endCutOff, socket);
    tell(close, socket);
  }
}

function tell(action: (socket: ServerSocket) => void, socket: ServerSocket): void {
  try {
    callBack(socket.nativeContext, action, socket);
    drainTicks();
  } catch (error) {
    native.stackFatal(error);
  }
}

function close(socket: ServerSocket): void {
  socket.closeTold = true;
  socket.home.onClose(socket);
}
