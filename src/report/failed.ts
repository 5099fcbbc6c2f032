import type { NamedResult } from '../load/result.js';

/** Counts the requests that failed: error statuses, transport errors and timeouts. */
export function countFailed({
  requests,
}: {
  requests: Pick<NamedResult['requests'], 'statusErrors' | 'transportErrors' | 'timeouts'>;
}): number {
  return requests.statusErrors + requests.transportErrors + requests.timeouts;
}
