import type { AsyncResource } from 'node:async_hooks';
import { drainTicks } from '../../node/node-internals.js';
import { callBack } from '../../reactor/contexts.js';
import { reportException } from '../../reactor/internal-errors.js';
import type { Connection } from '../../state/connection.js';
import { endCutOff } from './cut-off-writes.js';
import { closingHandle } from './handle.js';

/** Destroyed connections whose socket has not emitted 'close'. */
let closing: Connection[] = [];

/**
 * Emits 'close' of a socket without a stream at the same time as Node: when the loop closes handles, after all callbacks
 * of `setImmediate` of this turn.
 */
export function closeLater(connection: Connection): void {
  if (closing.length === 0) closingHandle().close(closeAll);
  closing.push(connection);
}

function closeAll(): void {
  const connections = closing;
  closing = [];
  for (const connection of connections) {
    if (connection.isCutOff) {
      callAtClose(cutOff, connection, connection.writeContext ?? connection.nativeContext);
    }
    callAtClose(close, connection, connection.transportContext);
    connection.endContexts();
  }
}

function callAtClose(
  action: (connection: Connection) => void,
  connection: Connection,
  context: AsyncResource,
): void {
  try {
    callBack(context, action, connection);
    drainTicks();
  } catch (error) {
    reportException(error, connection);
  }
}

function cutOff(connection: Connection): void {
  endCutOff(connection, null);
}

function close(connection: Connection): void {
  connection.isCloseEmitted = true;
  connection.nativeServer.onClose(connection);
}
