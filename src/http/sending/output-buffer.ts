import timers from 'node:timers';
import { drainTicks } from '../node/node-internals.js';
import { isObserved } from '../node/node-methods.js';
import { callBack, guarded } from '../reactor/contexts.js';
import { functions, OUTPUT_BYTES, output } from '../reactor/native.js';
import { countBodyBytes } from '../reactor/young-collection.js';
import type { Connection } from '../state/connection.js';
import {
  enqueue,
  FORGOTTEN,
  flushBatch,
  forgetFrames,
  isDue,
  isFull,
  LAST,
  MORE,
  noteFrames,
  sendDueFrames,
} from './write-batch.js';

/** Node's function, kept in case the application replaces the global one. */
const { setImmediate } = timers;

/** Length from which on bytes are sent without a copy. */
const COPY_LIMIT = 8 * 1024;

/** Length up to which copying byte by byte costs less than a call. */
const LOOP_LIMIT = 48;

/** Maximum number of bytes in the batch. */
const MAX_BATCHED_BYTES = 64 * 1024;

/*
 * The bytes that one connection is about to send. They are collected in the reactor's memory, so that head,
 * body and last chunk leave in one system call. At the end of a request, or when another connection wants to send,
 * they go into the batch of writes, and are in front of `bufferStart` until that is sent.
 */
let bufferOwner: Connection | null = null;
let bufferStart = 0;
let bufferLength = 0;
let inTurn = false;
/** The connection in whose context a tick will flush and notify. */
let scheduledBy: Connection | null = null;
/** Connections to be notified when their bytes are sent. */
let awaitingSent: Connection[] = [];
/** TLS connections whose bytes are sent and that are notified after the turn. */
let awaitingTurnEnd: Connection[] = [];

/** While a batch of events is dispatched, its loop flushes and notifies; otherwise a tick does. */
export function setInTurn(value: boolean): void {
  inTurn = value;
  if (!value) send();
  forgetFrames();
}

/** Number of this connection's bytes that have not been passed to the system. */
export function appendedBytes(connection: Connection): number {
  return bufferOwner === connection ? bufferLength - bufferStart : 0;
}

function schedule(connection: Connection): void {
  if (inTurn || scheduledBy !== null) return;
  scheduledBy = connection;
  process.nextTick(flushInNextTick);
}

// An 'end' that was put into the queue behind the first write still comes with it.
function flushInNextTick(): void {
  process.nextTick(flushNow);
}

function flushNow(): void {
  scheduledBy = null;
  flush();
  notifySent();
}

function acquireBuffer(connection: Connection): void {
  if (bufferOwner === connection) return;
  flush();
  // A handler that answers many requests may take long for each.
  if (inTurn) sendDue();
  bufferOwner = connection;
  schedule(connection);
}

export function appendText(connection: Connection, text: string, latin1: boolean): void {
  acquireBuffer(connection);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const most = latin1 ? text.length : text.length * 3;
  if (most > OUTPUT_BYTES - bufferLength) {
    appendBytes(connection, Buffer.from(text, latin1 ? 'latin1' : 'utf8'));
  } else {
    bufferLength += latin1
      ? output.latin1Write(text, bufferLength)
      : output.utf8Write(text, bufferLength);
  }
}

/** CRLF. */
export function appendLineEnd(connection: Connection): void {
  acquireBuffer(connection);
  if (bufferLength + 2 > OUTPUT_BYTES) {
    appendText(connection, '\r\n', true);
    return;
  }
  output[bufferLength] = 13;
  output[bufferLength + 1] = 10;
  bufferLength += 2;
}

export function appendBytes(connection: Connection, bytes: Uint8Array): void {
  acquireBuffer(connection);
  if (bytes.length < COPY_LIMIT && bytes.length <= OUTPUT_BYTES - bufferLength) {
    if (bytes.length > LOOP_LIMIT) output.set(bytes, bufferLength);
    else for (let at = 0; at < bytes.length; at++) output[bufferLength + at] = bytes[at] as number;
    bufferLength += bytes.length;
  } else {
    const first = bufferLength - bufferStart;
    if (connection.batchedBytes > 0) flushBatch();
    // Those in memory that other threads write to are copied there.
    const queued = functions.sendBytes(connection.id, bufferStart, first, bytes, 0);
    bufferLength = bufferStart;
    if (connection.session !== null) noteFrames();
    connection.onSent(queued, first + bytes.length);
    countBodyBytes(bytes.length);
  }
}

/** Ends a response: outside a turn its bytes are sent at once. */
export function flushEnd(): void {
  if (inTurn) return;
  flush();
  if (awaitingSent.length > 0) process.nextTick(notifySent);
}

/** Passes the collected bytes to the system, or within a turn to the batch. */
export function flush(): void {
  const connection = bufferOwner;
  if (connection === null) return;
  const bytes = bufferLength - bufferStart;
  bufferOwner = null;
  if (connection.id < 0) {
    bufferLength = bufferStart;
    return;
  }
  // Our side ends after a connection's last response, and the end is sent with it.
  const last = connection.responseAwaitingSend?._last === true;
  if (last && bytes > 0 && canBeForgotten(connection)) connection.isForgotten = true;
  const then = connection.isForgotten ? FORGOTTEN : last ? LAST : MORE;
  if (bytes > 0 || connection.endedResponses > 0) enqueue(connection, bufferStart, bytes, then);
  if (bytes === 0 && connection.queued === 0) connection.resetWritten();
  bufferStart = bufferLength;
  const hasSpace = bufferStart < MAX_BATCHED_BYTES && !isFull();
  if (!inTurn || !hasSpace || !canDelaySend(connection, bytes, last)) send();
}

/**
 * Whether no listener can observe that a connection's bytes are not sent yet: a short response ends with them, and the helper
 * thread does not depend on them.
 */
function canDelaySend(connection: Connection, bytes: number, last: boolean): boolean {
  const { responseAwaitingSend } = connection;
  return (
    bytes < COPY_LIMIT &&
    (!last || connection.isForgotten) &&
    (responseAwaitingSend === null
      ? connection.socket._httpMessage === null
      : !isObserved(responseAwaitingSend)) &&
    !connection.nativeServer.isWatched &&
    connection.callbacks === null &&
    !connection.needDrain &&
    connection.queued === 0
  );
}

/**
 * Whether nobody here has a part in how a stream of HTTP/2 ends behind these bytes: its request is complete, and no listener and no
 * callback waits for them.
 */
function canBeForgotten(connection: Connection): boolean {
  const { responseAwaitingSend: response } = connection;
  return (
    connection.session !== null &&
    response !== null &&
    connection.receiving === null &&
    connection.callbacks === null &&
    connection.queued === 0 &&
    !connection.needDrain &&
    !connection.isObserved &&
    !isObserved(response)
  );
}

/** Passes the bytes of this connection to the system. */
export function flushConnection(connection: Connection): void {
  if (bufferOwner === connection) flush();
  if (connection.batchedBytes > 0) send();
}

/** Sends everything, the batch first. */
export function flushAll(): void {
  flush();
  send();
}

/** Sends the batch if it has waited for long enough. */
export function sendDue(): void {
  if (isDue()) send();
  sendDueFrames();
}

function send(): void {
  flushBatch();
  if (bufferOwner === null) bufferStart = bufferLength = 0;
}

/** Reports responses that ended without bytes of their own. */
export function reportEnded(connection: Connection): void {
  if (connection.endedResponses === 0 || connection.batchedBytes > 0 || connection.id < 0) return;
  enqueue(connection, bufferStart, 0, MORE);
  // On a shared port, the next request may be for another process; the reactor then moves the connection without this loop.
  if (!inTurn || isFull() || connection.nativeServer.isWatched || connection.nativeServer.isShared)
    send();
}

/** Drops the collected bytes of a connection, but for the first `kept` of them. */
export function discard(connection: Connection, kept: number): void {
  if (bufferOwner === connection) bufferLength = bufferStart + Math.max(0, kept);
}

/** Notifies a connection when its bytes are sent. */
export function notifySentLater(connection: Connection): void {
  if (!connection.awaitsSent) {
    connection.awaitsSent = true;
    awaitingSent.push(connection);
    schedule(connection);
    // The tick has the context of another connection.
    if (!inTurn && scheduledBy !== connection && isAwaited(connection)) connection.keepContext();
  }
  // The end of the turn has none.
  if (connection.nativeServer.isSecure && isAwaited(connection)) connection.keepContext();
}

/**
 * Whether a connection is notified after the turn that its bytes are sent. In Node a write through TLS never completes within
 * the call, but after everything that the loop has read.
 */
export function isNotifiedAfterTurn(connection: Connection): boolean {
  const { nativeServer, bytesSinceDrain } = connection;
  return nativeServer.isSecure && (bytesSinceDrain > 0 || isAwaited(connection));
}

/** Whether a callback or a listener waits until the bytes of a connection are sent. */
function isAwaited({ callbacks, needDrain, responseAwaitingSend }: Connection): boolean {
  return (
    callbacks !== null ||
    needDrain ||
    (responseAwaitingSend !== null && isObserved(responseAwaitingSend))
  );
}

/** Reports in a tick, as Node does, and not at the turn's end, that the bytes of a connection are sent. */
export function reportSoon(connection: Connection): void {
  if (inTurn) process.nextTick(guarded, reportSent, connection);
}

function reportSent(connection: Connection): void {
  if (connection.destroyed || isNotifiedAfterTurn(connection)) return;
  if (connection.endsSide) {
    // The connection ends with the turn: the rest of a request that arrived with this one is still reported.
    if (connection.isObserved || (connection.callbacks?.length ?? 0) > 1) connection.keepContext();
    return;
  }
  // A short response that has ended may be sent together with the next one, but a callback needs its bytes sent now.
  const bytes = appendedBytes(connection);
  if (bytes > COPY_LIMIT || (connection.callbacks !== null && bytes > 0)) flush();
  if (connection.queued === 0) connection.nativeServer.onAllSent(connection);
}

/** Notifies the connections whose bytes are sent; returns whether there was one. The others stay in the list. */
export function notifySent(): boolean {
  if (awaitingSent.length === 0) return false;
  const connections = awaitingSent;
  awaitingSent = [];
  let hasSettled = false;
  for (const connection of connections) {
    if (appendedBytes(connection) > 0) {
      awaitingSent.push(connection);
      continue;
    }
    hasSettled = true;
    if (isNotifiedAfterTurn(connection)) notifyAtTurnEnd(connection);
    else notifyConnection(connection);
  }
  return hasSettled;
}

function notifyAtTurnEnd(connection: Connection): void {
  if (awaitingTurnEnd.length === 0 && !inTurn) setImmediate(notifyAfterTurn);
  awaitingTurnEnd.push(connection);
}

/** Notifies the TLS connections after the turn; returns whether there was one. */
export function notifyAfterTurn(): boolean {
  if (awaitingTurnEnd.length === 0) return false;
  const connections = awaitingTurnEnd;
  awaitingTurnEnd = [];
  for (const connection of connections) {
    notifyConnection(connection);
    // As after each callback of Node.
    drainTicks();
  }
  return true;
}

/** An exception of one connection does not stop the others. */
function notifyConnection(connection: Connection): void {
  connection.awaitsSent = false;
  if (connection.writeContext === null) guarded(reportBytesSent, connection);
  else callBack(connection.writeContext, reportBytesSent, connection);
}

function reportBytesSent(connection: Connection): void {
  connection.nativeServer.onBytesSent(connection);
}

/** The connection whose bytes are collected. */
export function getBufferOwner(): Connection | null {
  return bufferOwner;
}
