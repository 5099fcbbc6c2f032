import { guarded } from '../../reactor/contexts.js';
import type { Connection } from '../../state/connection.js';
import type { Handle } from './handle.js';

/**
 * Called when a connection was announced. As with Node, whose listener for 'data' has a tick waiting by then that starts the
 * reading, a listener for 'connection' that pauses the socket does not keep its requests away.
 */
export function readNewConnection(connection: Connection): void {
  if (connection.isPaused) process.nextTick(guarded, read, connection);
}

function read(connection: Connection): void {
  const { id, isFallback, isStream, socket } = connection;
  if (id < 0 || isFallback) return;
  connection.setPaused(false);
  if (isStream) (socket._handle as Handle).reading = true;
  socket.emit('resume');
}
