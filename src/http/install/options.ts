import type http from 'node:http';
import { applyCacheOption, type CacheOption } from '../cache/server-cache.js';
import { serveWhileBusy } from '../reactor/helper-thread.js';
import { applyHttp2Option } from '../server/http2.js';
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
  /**
   * Whether the server speaks HTTP/2: over TLS with clients that ask for it by ALPN, without TLS with those that know it.
   * Default: as `MILLRACE_HTTP2` says, which is off without it.
   */
  http2?: boolean;
}

/** Applies the options of the stack among a server's options. */
export function applyOptions(server: http.Server, options: unknown): void {
  applyLimits(server, options);
  applyCacheOption(server, options);
  serveWhileBusy(server, options);
  applyHttp2Option(server, options);
}
