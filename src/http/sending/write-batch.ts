import { now } from '../reactor/clock.js';
import { batchEntries, ENTRY_LENGTH, functions, MAX_ENTRIES } from '../reactor/native.js';
import type { Connection } from '../state/connection.js';

/** Maximum time for which a response waits for the handlers of requests that arrived together with its own. */
const MAX_DELAY_MS = 0.1;
/** The same for the frames of a stream of HTTP/2, which leave with those of the other streams of its connection. */
const MAX_FRAME_DELAY_MS = 0.5;
/** A response that waited this long waited for a handler that blocks the loop... */
const BLOCKING_MS = 5;
/** ...and for this time afterwards no response waits. */
const BACKOFF_MS = 1000;

/*
 * The bytes that are about to be sent, in the order of the writes. The short responses of a turn are sent together: each
 * separate send wakes the client, which costs a tenth of a short request.
 */
let pending: Connection[] = [];
/** Time of the first entry; 0 if it is not needed. */
let since = 0;
let batchingDisabledUntil = 0;
/** Whether frames wait for the end of the turn, and since when; 0 if the time is not needed. */
let hasFrames = false;
let framesSince = 0;

/** What follows an entry's bytes. */
export const MORE = 0;
/** Our side of the connection ends after them. */
export const LAST = 1;
/** They are the last of a stream's response, whose connection is forgotten here: the reactor closes it. */
export const FORGOTTEN = 2;

/** Adds bytes of the output memory to the batch. */
export function enqueue(connection: Connection, start: number, bytes: number, then: number): void {
  const at = pending.length * ENTRY_LENGTH;
  pending.push(connection);
  batchEntries[at] = connection.id;
  batchEntries[at + 1] = start;
  batchEntries[at + 2] = bytes;
  batchEntries[at + 4] = then;
  // Without bytes it may be a connection that is a stream by now.
  if (bytes > 0) connection.batchedBytes += bytes;
}

/** Whether the batch is full. */
export function isFull(): boolean {
  return pending.length >= MAX_ENTRIES;
}

/** Whether the batch has waited for long enough. */
export function isDue(): boolean {
  if (pending.length === 0) return false;
  const time = now();
  if (since === 0) since = time;
  return time - since > MAX_DELAY_MS || time < batchingDisabledUntil;
}

/** Sends the frames that have waited for long enough for the end of the turn. */
export function sendDueFrames(): void {
  if (!hasFrames) return;
  const time = now();
  if (framesSince === 0) framesSince = time;
  if (time - framesSince > MAX_FRAME_DELAY_MS || time < batchingDisabledUntil) {
    forgetFrames();
    functions.flush();
  }
}

/** Bytes of a stream have become frames. */
export function noteFrames(): void {
  hasFrames = true;
}

/** A turn begins or ends: no frames wait. */
export function forgetFrames(): void {
  hasFrames = false;
  framesSince = 0;
}

/** Sends the batch. */
export function flushBatch(): void {
  const batch = pending;
  const { length } = batch;
  if (length === 0) return;
  if (since > 0) {
    const time = now();
    if (time - since > BLOCKING_MS) batchingDisabledUntil = time + BACKOFF_MS;
    since = 0;
  }
  // A connection's responses end with the last of its entries.
  for (let entry = length - 1; entry >= 0; entry--) {
    const connection = batch[entry] as Connection;
    if (connection.session !== null) hasFrames = true;
    batchEntries[entry * ENTRY_LENGTH + 3] = connection.endedResponses;
    connection.endedResponses = 0;
  }
  // If a later statement throws, nothing is sent twice.
  pending = [];
  functions.send(length);
  for (let entry = 0; entry < length; entry++) {
    const at = entry * ENTRY_LENGTH;
    const bytes = batchEntries[at + 2] as number;
    if (bytes > 0) (batch[entry] as Connection).onBatchSent(batchEntries[at] as number, bytes);
  }
}
