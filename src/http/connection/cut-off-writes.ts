import { constants } from 'node:os';
import { MAJOR } from '../node-version.js';
import type { ServerSocket } from './socket.js';
import { destroyedError, systemError } from './socket-errors.js';

/** As with Node, closing a connection ends what was in flight, and then what waited behind that. */
export function endCutOff(socket: ServerSocket): void {
  const { callbacks, inFlight } = socket;
  socket.callbacks = null;
  if (callbacks !== null) {
    const canceled = MAJOR < 22 ? null : systemError('write', -constants.errno.ECANCELED);
    for (const callback of callbacks.slice(0, inFlight)) callback(canceled);
    const cause = socket.errored ?? canceled ?? destroyedError();
    for (const callback of callbacks.slice(inFlight)) callback(cause);
  }
  if (FINISHES_WHEN_CUT_OFF) socket.nativeServer.conclude(socket);
}

/** Before Node 24, a response finishes whatever became of its bytes. */
export const FINISHES_WHEN_CUT_OFF = MAJOR < 24;
