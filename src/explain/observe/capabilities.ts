import { isThisMachine } from '../../process/discovery/listening.js';
import { isNode } from '../../process/discovery/node-process.js';
import type { Endpoint } from '../../process/discovery/types.js';
import { findVisibilityGaps } from './visibility-gaps.js';

/** What is known of the server before any load. */
export interface Capabilities {
  /** Whether the server is on this machine. */
  sameHost: boolean;
  /** `null`: not known; why is in `cannotSee`. */
  isNode: boolean | null;
  /** What cannot be seen, why, and what would settle it: a sentence each. */
  notObserved: string[];
}

/**
 * Takes stock of a server.
 *
 * @param pid its first process; `null` if that is unknown or on another machine
 * @param endpoint where it is reached; `null` for a Unix socket
 */
export function findCapabilities(pid: number | null, endpoint: Endpoint | null): Capabilities {
  const sameHost = pid !== null || endpoint === null || isThisMachine(endpoint.host);
  return {
    sameHost,
    isNode: pid === null ? null : isNode(pid),
    notObserved: findVisibilityGaps(pid, endpoint, sameHost),
  };
}
