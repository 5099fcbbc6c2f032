import type http from 'node:http';
import { usageError } from '../../errors.js';
import { describeValue } from '../../validation/shape.js';
import { native } from './native.js';

/** Servers that want to be served while the event loop is busy. */
const wanting = new Set<object>();
/** Servers whose options say that they are not. */
const refusing = new WeakSet<http.Server>();

/** Takes `whileBusy` from among a server's options. */
export function serveWhileBusy(server: http.Server, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const { whileBusy } = options as { whileBusy?: unknown };
  if (whileBusy === undefined) return;
  if (typeof whileBusy !== 'boolean') {
    throw usageError(`whileBusy must be true or false (got ${describeValue(whileBusy)})`);
  }
  if (whileBusy) refusing.delete(server);
  else refusing.add(server);
}

/**
 * Has a second thread serve what needs no JavaScript while this one is busy, as long as any server has use for it and does not
 * refuse it.
 */
export function setHelperThreadUse(owner: { server: http.Server }, hasUse: boolean): void {
  const before = wanting.size;
  if (hasUse && !refusing.has(owner.server)) wanting.add(owner);
  else wanting.delete(owner);
  if (before > 0 === wanting.size > 0) return;
  try {
    native.stackCompanion(wanting.size > 0);
  } catch {
    // There may be no more threads: then everything waits for the loop.
  }
}
