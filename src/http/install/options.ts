import type http from 'node:http';
import { applyCacheOption, type CacheOption } from '../cache/server-cache.js';
import { serveWhileBusy } from '../reactor/helper-thread.js';
import { applyLimits, type StackLimits } from '../server/limits.js';

/** Options of a server in addition to Node's own. */
export interface StackOptions extends Partial<StackLimits> {
  /** The output cache: `true` for all defaults, an object for other values, `false` for none. */
  cache?: CacheOption;
  /**
   * Whether a second thread handles cache hits, the 408 and 503 of the limits, handshakes, and connections of other processes
   * on a shared port while the event loop is busy. `false`: they wait. Default `true`.
   */
  whileBusy?: boolean;
}

/** Applies the options of the stack among a server's options. */
export function applyOptions(server: http.Server, options: unknown): void {
  applyLimits(server, options);
  applyCacheOption(server, options);
  serveWhileBusy(server, options);
}
