import { getNativeServer } from './native-server.js';
import type { StackStats } from './stats.js';

/** Returns the counters of a server since it first listened; `null` before that, and if it does not listen natively. */
export function getStats(server: object): StackStats | null {
  return getNativeServer(server)?.counters.count() ?? null;
}

/** Returns whether the native stack serves a server; `false` before it listens and after it is closed. */
export function isNative(server: object): boolean {
  return (getNativeServer(server)?.id ?? -1) >= 0;
}
