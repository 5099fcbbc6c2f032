import { isNode } from '../../process/discovery/node-process.js';
import { isThisMachine } from '../../process/listening/port-owners.js';
import type { Endpoint } from '../../process/listening/types.js';
import { findVisibilityGaps } from './visibility-gaps.js';

/** What is known about the server before any load. */
export interface Capabilities {
  /** Whether the server is on this machine. */
  sameHost: boolean;
  /** `null` if unknown; `notObserved` contains the reason. */
  isNode: boolean | null;
  /** What cannot be observed, why, and how to make it visible: a sentence each. */
  notObserved: string[];
}

/**
 * Determines what can be observed of a server.
 *
 * @param pid its first process; `null` if that is unknown or on another machine
 * @param endpoint its address; `null` for a Unix socket
 */
export function findCapabilities(pid: number | null, endpoint: Endpoint | null): Capabilities {
  const sameHost = pid !== null || endpoint === null || isThisMachine(endpoint.host);
  return {
    sameHost,
    isNode: pid === null ? null : isNode(pid),
    notObserved: findVisibilityGaps(pid, endpoint, sameHost),
  };
}
