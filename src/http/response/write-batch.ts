import type { ServerSocket } from '../connection/socket.js';
import { ENTRIES, ENTRY_LENGTH, functions, outbox } from '../reactor/native.js';

/** For how long the bytes of a response may wait for the handlers of requests that came together with its own. */
const PATIENCE_MS = 0.1;
/** Who had to wait for so long waited for a handler that blocks the loop... */
const BLOCKED_MS = 5;
/** ...and for so long afterwards nobody waits. */
const MISTRUST_MS = 1000;

// Applications replace it to set the clock.
const now = performance.now.bind(performance);

/*
 * What is about to be sent, in the order in which it was written. In a turn, short responses leave together: each send by
 * itself wakes the client, which costs a tenth of a short request.
 */
let senders: ServerSocket[] = [];
/** When the first entry came; 0: there was no need to know. */
let since = 0;
let mistrustedUntil = 0;

/** Adds bytes of the output memory to what is about to be sent. `last`: our side of the connection ends behind them. */
export function enqueue(socket: ServerSocket, start: number, bytes: number, last: boolean): void {
  const at = senders.length * ENTRY_LENGTH;
  senders.push(socket);
  outbox[at] = socket.nativeId;
  outbox[at + 1] = start;
  outbox[at + 2] = bytes;
  outbox[at + 4] = last ? 1 : 0;
  // Without bytes it may be a connection that is a stream by now.
  if (bytes > 0) socket.posted += bytes;
}

/** There is no room for more. */
export function isFull(): boolean {
  return senders.length >= ENTRIES;
}

/** Whether what was posted has waited for long enough. */
export function isDue(): boolean {
  if (senders.length === 0) return false;
  const time = now();
  if (since === 0) since = time;
  return time - since > PATIENCE_MS || time < mistrustedUntil;
}

/** Sends what was posted. */
export function flushBatch(): void {
  const posted = senders;
  const { length } = posted;
  if (length === 0) return;
  if (since > 0) {
    const time = now();
    if (time - since > BLOCKED_MS) mistrustedUntil = time + MISTRUST_MS;
    since = 0;
  }
  // A connection's responses end with the last of its entries.
  for (let entry = length - 1; entry >= 0; entry--) {
    const socket = posted[entry] as ServerSocket;
    outbox[entry * ENTRY_LENGTH + 3] = socket.done;
    socket.done = 0;
  }
  // Whatever is thrown behind this, nothing is sent twice.
  senders = [];
  functions.send(length);
  for (let entry = 0; entry < length; entry++) {
    const at = entry * ENTRY_LENGTH;
    const bytes = outbox[at + 2] as number;
    if (bytes > 0) (posted[entry] as ServerSocket).left(outbox[at] as number, bytes);
  }
}
