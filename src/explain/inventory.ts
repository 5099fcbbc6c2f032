import type { Endpoint } from '../process/endpoint.js';
import { isThisMachine } from '../process/listening.js';
import { isNode } from '../process/node-process.js';
import { blindSpots } from './blind-spots.js';

/** What is known of the server before any load. */
export interface Inventory {
  /** Whether the server is on this machine. */
  sameHost: boolean;
  /** `null`: not known; why is in `cannotSee`. */
  isNode: boolean | null;
  /** What cannot be seen, why, and what would settle it: a sentence each. */
  cannotSee: string[];
}

/**
 * Takes stock of a server.
 *
 * @param pid its first process; `null` if that is unknown or on another machine
 * @param endpoint where it is reached; `null` for a Unix socket
 */
export function inventory(pid: number | null, endpoint: Endpoint | null): Inventory {
  const sameHost = pid !== null || endpoint === null || isThisMachine(endpoint.host);
  return {
    sameHost,
    isNode: pid === null ? null : isNode(pid),
    cannotSee: blindSpots(pid, endpoint, sameHost),
  };
}
