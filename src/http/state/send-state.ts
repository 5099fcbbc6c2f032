import type { AsyncResource } from 'node:async_hooks';
import type { Outgoing } from '../node/node-internals.js';

export type Callback = (error?: Error | null) => void;

/**
 * Where the bytes are that a connection has to send:
 *
 *     appended            batched              queued              sent
 *     output-buffer  ->   write-batch     ->   the reactor    ->   the system
 *     one connection      many, in order       what the system
 *     at a time           of writing           has not accepted
 *
 * A response ends with bytes that are appended (`responseAwaitingSend`); its 'finish' comes when they are sent.
 */
export abstract class SendState {
  /** Responses that end with the bytes appended so far. */
  endedResponses = 0;
  /** A response whose last byte is among the appended ones. */
  responseAwaitingSend: Outgoing | null = null;
  /** Callbacks for when the appended bytes have been sent. */
  callbacks: Callback[] | null = null;
  /** How many of these wait for what Node would have given to the system by now; the system has not taken all of it. */
  partiallySentCallbacks = 0;
  /** Whether bytes that are written now belong to that, too. */
  collectsPartialWrite = false;
  /** Context in which callbacks, 'drain' and 'finish' come that do not come in a tick of the write: of the first such write. */
  writeContext: AsyncResource | null = null;
  /** Bytes in the batch of writes. */
  batchedBytes = 0;
  /** Bytes that the reactor could not send yet. */
  queued = 0;
  /** Number of bytes passed to the reactor. */
  sent = 0;
  /** Calls of `cork` that `uncork` has not undone. */
  corked = 0;
  /** `bytesWritten` at the first of these calls. */
  corkedAt = 0;
  /** Whether corked bytes are sent with the other bytes of this turn. */
  flushesAtTurnEnd = false;
  /** Number of bytes written since all earlier ones were sent. */
  bytesSinceDrain = 0;
  needDrain = false;
  /** Whether the connection is among those that report when their bytes have been sent. */
  awaitsSent = false;
  /** Whether no bytes waited to be sent when the connection was destroyed. */
  wasFlushed = false;
  /** Whether bytes that were passed to the reactor could not be sent, and the system's error: a negative number. */
  broken = false;
  sendError = 0;
  /** Whether the system had not accepted all bytes when the connection was destroyed. */
  isCutOff = false;
}
