import type http from 'node:http';
import { applyCacheOption, type CacheOption } from '../cache/server-cache.js';
import { serveWhileBusy } from '../reactor/helper-thread.js';
import { applyLimits, type StackLimits } from '../server/limits.js';

/** What a server's options may hold beside Node's own. */
export interface StackOptions extends Partial<StackLimits> {
  /** The output cache: `true` with all defaults, an object with some other ones, `false` for none. */
  cache?: CacheOption;
  /**
   * Cache hits, 408 and 503 of the limits, handshakes and others' connections on a shared port do not wait while the event loop is
   * busy: a second thread sees to them, where there is any of that. `false`: they wait.
   */
  whileBusy?: boolean;
}

/** Takes what among a server's options is the stack's. */
export function applyOptions(server: http.Server, options: unknown): void {
  applyLimits(server, options);
  applyCacheOption(server, options);
  serveWhileBusy(server, options);
}
