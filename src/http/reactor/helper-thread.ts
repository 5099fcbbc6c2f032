import type http from 'node:http';
import { native } from './native.js';

/** Servers that are served while the event loop is busy. */
const wanting = new Set<object>();
/** Servers whose options turn this off. */
const refusing = new WeakSet<http.Server>();

/** Reads `whileBusy` from a server's options; a value that is not a boolean is the application's own. */
export function serveWhileBusy(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const { whileBusy } = options as { whileBusy?: unknown };
  if (whileBusy === true) refusing.delete(server);
  else if (whileBusy === false) refusing.add(server);
}

/**
 * Starts the second thread, which serves requests without JavaScript while this thread is busy, or stops it if no server
 * needs it.
 */
export function setHelperThreadUse(owner: { server: http.Server }, hasUse: boolean): void {
  const before = wanting.size;
  if (hasUse && !refusing.has(owner.server)) wanting.add(owner);
  else wanting.delete(owner);
  if (before > 0 === wanting.size > 0) return;
  try {
    native.stackStandbyThread(wanting.size > 0);
  } catch {
    // If no thread can be created, everything waits for the loop.
  }
}
