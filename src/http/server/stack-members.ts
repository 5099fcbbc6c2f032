import type http from 'node:http';
import type { ServerCache } from '../cache/server-cache.js';
import type { StackLimits } from './limits.js';
import type { StackStats } from './stats.js';

/** Members of a server on the native stack in addition to Node's own. */
export interface StackMembers extends StackLimits {
  /** Returns the counters of this server since it first listened; `null` before that, and if it does not listen natively. */
  stats(): StackStats | null;
  /** The output cache; empty if it is off. */
  readonly cache: ServerCache;
}

/** A property of a response on the native stack in addition to Node's own. */
export interface StackResponseMembers {
  /** Seconds for which the output cache keeps this response; 0: it is not stored. To be set before its head is sent. */
  cacheDuration?: number;
}

/** A response of a server on the native stack. */
export type StackResponse = http.ServerResponse & StackResponseMembers;

/** A listener for requests of a server on the native stack. */
export type StackListener = (
  request: http.IncomingMessage,
  response: StackResponse & { req: http.IncomingMessage },
) => void;
