import { isObserved } from '../node/node-methods.js';
import { callBack, guarded } from '../reactor/contexts.js';
import { functions, OUTPUT_BYTES, output } from '../reactor/native.js';
import { countBodyBytes } from '../reactor/young-collection.js';
import type { Connection } from '../state/connection.js';
import { enqueue, flushBatch, isDue, isFull } from './write-batch.js';

/** Length from which on bytes are sent without a copy. */
const COPY_LIMIT = 8 * 1024;

/** Length up to which copying byte by byte costs less than a call. */
const LOOP_LIMIT = 48;

/** Maximum number of bytes in the batch. */
const MAX_BATCHED_BYTES = 64 * 1024;

/*
 * The bytes that one connection is about to send. They are collected in the reactor's memory, so that head,
 * body and last chunk leave in one system call. At the end of a request, or when another connection wants to send,
 * they go into the batch of writes, and are in front of `start` until that is sent.
 */
let owner: Connection | null = null;
let start = 0;
let length = 0;
let inTurn = false;
/** The connection in whose context a tick will flush and settle. */
let scheduledBy: Connection | null = null;
/** Connections with something to tell when their bytes have left. */
let settling: Connection[] = [];

/** While a batch is taken, its loop flushes and settles; otherwise a tick does. */
export function setInTurn(value: boolean): void {
  inTurn = value;
  if (!value) send();
}

/** Number of this connection's bytes that have not been passed to the system. */
export function appendedBytes(connection: Connection): number {
  return owner === connection ? length - start : 0;
}

function schedule(connection: Connection): void {
  if (inTurn || scheduledBy !== null) return;
  scheduledBy = connection;
  process.nextTick(later);
}

// An 'end' that was put into the queue behind the first write still comes with it.
function later(): void {
  process.nextTick(now);
}

function now(): void {
  scheduledBy = null;
  flush();
  settle();
}

function claim(connection: Connection): void {
  if (owner === connection) return;
  flush();
  // A handler that answers many requests may take long for each.
  if (inTurn) sendDue();
  owner = connection;
  schedule(connection);
}

export function appendText(connection: Connection, text: string, latin1: boolean): void {
  claim(connection);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const most = latin1 ? text.length : text.length * 3;
  if (most > OUTPUT_BYTES - length) {
    appendBytes(connection, Buffer.from(text, latin1 ? 'latin1' : 'utf8'));
  } else {
    length += latin1 ? output.latin1Write(text, length) : output.utf8Write(text, length);
  }
}

/** CRLF. */
export function appendLineEnd(connection: Connection): void {
  claim(connection);
  if (length + 2 > OUTPUT_BYTES) {
    appendText(connection, '\r\n', true);
    return;
  }
  output[length] = 13;
  output[length + 1] = 10;
  length += 2;
}

export function appendBytes(connection: Connection, bytes: Uint8Array): void {
  claim(connection);
  if (bytes.length < COPY_LIMIT && bytes.length <= OUTPUT_BYTES - length) {
    if (bytes.length > LOOP_LIMIT) output.set(bytes, length);
    else for (let at = 0; at < bytes.length; at++) output[length + at] = bytes[at] as number;
    length += bytes.length;
  } else {
    const first = length - start;
    if (connection.batchedBytes > 0) flushBatch();
    // Those in memory that other threads write to are copied there.
    const queued = functions.sendBytes(connection.id, start, first, bytes, 0);
    length = start;
    connection.onSent(queued, first + bytes.length);
    countBodyBytes(bytes.length);
  }
}

/** Ends a response: outside a turn its bytes are sent at once. */
export function flushEnd(): void {
  if (inTurn) return;
  flush();
  if (settling.length > 0) process.nextTick(settle);
}

/** Passes the collected bytes to the system, or within a turn to the batch. */
export function flush(): void {
  const connection = owner;
  if (connection === null) return;
  const bytes = length - start;
  owner = null;
  if (connection.id < 0) {
    length = start;
    return;
  }
  // Behind a connection's last response our side ends, and the end leaves with it.
  const last = connection.finishing?._last === true;
  if (bytes > 0 || connection.done > 0) enqueue(connection, start, bytes, last);
  if (bytes === 0 && connection.queued === 0) connection.bytesSinceDrain = 0;
  start = length;
  if (inTurn && start < MAX_BATCHED_BYTES && !isFull() && mayWait(connection, bytes, last)) return;
  send();
}

/**
 * Whether nobody sees that a connection's bytes have not left yet: a short response has ended with them, and no
 * second thread goes by what has left.
 */
function mayWait(connection: Connection, bytes: number, last: boolean): boolean {
  const { finishing } = connection;
  return (
    bytes < COPY_LIMIT &&
    !last &&
    (finishing === null ? connection.socket._httpMessage === null : !isObserved(finishing)) &&
    !connection.nativeServer.isWatched &&
    connection.callbacks === null &&
    !connection.needDrain &&
    connection.queued === 0
  );
}

/** Passes the bytes of this connection to the system. */
export function flushConnection(connection: Connection): void {
  if (owner === connection) flush();
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
}

function send(): void {
  flushBatch();
  if (owner === null) start = length = 0;
}

/** Responses ended without bytes of their own to send. */
export function reportEnded(connection: Connection): void {
  if (connection.done === 0 || connection.batchedBytes > 0 || connection.id < 0) return;
  enqueue(connection, start, 0, false);
  // On a shared port, what comes next may be another's, and go there without this loop.
  if (!inTurn || isFull() || connection.nativeServer.isWatched || connection.nativeServer.isShared)
    send();
}

/** Drops the collected bytes of a connection, but for the first `kept` of them. */
export function discard(connection: Connection, kept: number): void {
  if (owner === connection) length = start + Math.max(0, kept);
}

/** `connection` has something to tell when its bytes have left. */
export function notifySentLater(connection: Connection): void {
  if (connection.awaitsSent) return;
  connection.awaitsSent = true;
  settling.push(connection);
  schedule(connection);
  // The tick has the context of another connection.
  if (!inTurn && scheduledBy !== connection && isAwaited(connection)) connection.keepContext();
}

/** Whether somebody waits for the moment when the bytes of a connection have left. */
function isAwaited({ callbacks, needDrain, finishing }: Connection): boolean {
  return callbacks !== null || needDrain || (finishing !== null && isObserved(finishing));
}

/** As with Node, whoever wants to know that bytes have left hears of it in a tick, not at the turn's end. */
export function reportSoon(connection: Connection): void {
  if (inTurn) process.nextTick(guarded, reportSent, connection);
}

function reportSent(connection: Connection): void {
  if (connection.destroyed) return;
  if (connection.endsSide) {
    // A connection ends with its turn: the rest of a request that came with this one is still reported.
    if (connection.isObserved || (connection.callbacks?.length ?? 0) > 1) connection.keepContext();
    return;
  }
  // A short response that is over may leave together with the next; who wrote with a callback wants it to have left.
  const bytes = appendedBytes(connection);
  if (bytes > COPY_LIMIT || (connection.callbacks !== null && bytes > 0)) flush();
  if (connection.queued === 0) connection.nativeServer.concludeAll(connection);
}

/** Settles the connections whose bytes have left; `true` if there was one. The others wait until theirs have. */
export function settle(): boolean {
  if (settling.length === 0) return false;
  const connections = settling;
  settling = [];
  let hasSettled = false;
  for (const connection of connections) {
    if (appendedBytes(connection) > 0) {
      settling.push(connection);
      continue;
    }
    hasSettled = true;
    connection.awaitsSent = false;
    // What one of them throws does not keep the others.
    if (connection.writeContext === null) guarded(settleOne, connection);
    else callBack(connection.writeContext, settleOne, connection);
  }
  return hasSettled;
}

function settleOne(connection: Connection): void {
  connection.nativeServer.settle(connection);
}

/** The connection whose bytes are collected. */
export function pending(): Connection | null {
  return owner;
}
