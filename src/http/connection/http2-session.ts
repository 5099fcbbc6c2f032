import type { Outgoing } from '../node/node-internals.js';
import { native } from '../reactor/native.js';
import { flushAll } from '../sending/output-buffer.js';
import type { Connection } from '../state/connection.js';

/**
 * Gives the socket of an HTTP/2 session a response in progress, as a socket of HTTP/1.1 has its own. Libraries that close servers
 * gracefully go by that: they destroy a socket without one, and give the response of another the field `Connection: close`. Only
 * after somebody has asked for it does that field end a session: proxies copy it from other connections.
 */
export function showResponse(session: Connection): void {
  Object.defineProperty(session.socket, '_httpMessage', {
    get() {
      session.endsByField = true;
      return findResponse(session);
    },
    enumerable: true,
    configurable: true,
  });
}

/** A response of one of its streams; if there is one, it is one whose head can still be changed. */
function findResponse({ streams }: Connection): Outgoing | null {
  let found: Outgoing | null = null;
  for (const { socket } of streams ?? []) {
    const response = socket._httpMessage;
    if (!response) continue;
    if (!response.headersSent) return response;
    found ??= response;
  }
  return found;
}

/** Ends a session gracefully: the client may open no more streams, and those that are open come to their ends. */
export function goAway({ id }: Connection): void {
  if (id < 0) return;
  // What was written of responses leaves first; then the reactor ends the connection.
  flushAll();
  native.stackGoAway(id);
}
