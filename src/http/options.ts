import type http from 'node:http';
import { type CacheOption, takeCache } from './cache.js';
import { type StackLimits, takeLimits } from './limits.js';

/** What a server's options may hold beside Node's own. */
export interface StackOptions extends Partial<StackLimits> {
  /** The output cache: `true` with all defaults, an object with some other ones, `false` for none. */
  cache?: CacheOption;
}

/** Takes what among a server's options is the stack's. */
export function takeOptions(server: http.Server, options: unknown): void {
  takeLimits(server, options);
  takeCache(server, options);
}
