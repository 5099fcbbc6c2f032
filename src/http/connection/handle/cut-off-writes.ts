import { constants } from 'node:os';
import { MAJOR } from '../../node/node-version.js';
import { destroyedError, systemError } from '../../node/socket-errors.js';
import type { Connection } from '../../state/connection.js';

/** As in Node, closing a connection ends the writes that the system has begun to take, and then what waited behind them. */
export function endCutOff(connection: Connection, error: Error | null): void {
  const { callbacks, partiallySentCallbacks } = connection;
  connection.callbacks = null;
  if (callbacks !== null) {
    const canceled = MAJOR < 22 ? null : systemError('write', -constants.errno.ECANCELED);
    for (const callback of callbacks.slice(0, partiallySentCallbacks)) callback(canceled);
    const cause = error ?? canceled ?? destroyedError();
    for (const callback of callbacks.slice(partiallySentCallbacks)) callback(cause);
  }
  if (FINISHES_WHEN_CUT_OFF) connection.nativeServer.endResponse(connection);
}

/** Before Node 24, a response finishes whatever became of its bytes. */
export const FINISHES_WHEN_CUT_OFF = MAJOR < 24;
