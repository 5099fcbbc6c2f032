import { BODY, END, EVENT_LENGTH, NONE, OPEN, REQUEST } from './events.js';
import { events } from './native.js';

/** The batch that is being dispatched: the index of the next event, and the number of events. */
export const batch = { cursor: 0, total: 0 };

/**
 * Finds the start of a connection's bytes in the rest of the batch. -1: the batch contains none; `null`: they do not begin
 * at the start of a request, or are not in one piece.
 */
export function unreadOffset(id: number): number | null {
  let from = -1;
  let others = false;
  for (let at = batch.cursor * EVENT_LENGTH; at < batch.total * EVENT_LENGTH; at += EVENT_LENGTH) {
    const kind = events[at];
    if (events[at + 1] !== id) {
      others ||= from >= 0;
    } else if (kind === REQUEST || kind === BODY || kind === END) {
      if (others || (from < 0 && kind !== REQUEST)) return null;
      if (from < 0) from = events[at + 2] as number;
    }
  }
  return from;
}

/** Removes the accepted connections of a server from the rest of the batch. */
export function extractAccepted(server: number): number[] {
  const ids: number[] = [];
  for (let at = batch.cursor * EVENT_LENGTH; at < batch.total * EVENT_LENGTH; at += EVENT_LENGTH) {
    if (events[at] !== OPEN || events[at + 2] !== server) continue;
    events[at] = NONE;
    ids.push(events[at + 1] as number);
  }
  return ids;
}
