import { BODY, END, EVENT_LENGTH, NONE, OPEN, REQUEST } from './events.js';
import { events } from './native.js';

/** The batch that is being taken: the event that comes next, and how many there are. */
export const batch = { cursor: 0, total: 0 };

/**
 * Where the bytes begin that the rest of the batch tells of a connection; -1: it tells of none; `null`: they are not
 * there in one piece from the start of a request on.
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

/** Takes out of the rest of the batch which connections were accepted for a server. */
export function takeAccepted(server: number): number[] {
  const ids: number[] = [];
  for (let at = batch.cursor * EVENT_LENGTH; at < batch.total * EVENT_LENGTH; at += EVENT_LENGTH) {
    if (events[at] !== OPEN || events[at + 2] !== server) continue;
    events[at] = NONE;
    ids.push(events[at + 1] as number);
  }
  return ids;
}
