import type { Explanation } from '../../explain/result.js';
import { share, time } from '../../format/units.js';

/** Maximum number of names in a report. */
export const MAX_NAMES = 5;

/** Describes what the requests with one name take, in words. */
export function describeShare(request: Explanation['requests'][number]): string {
  const { requestShare, timeShare, loopShare, p50Ms, p99Ms } = request;
  const parts = [
    `${share(requestShare)} of the requests`,
    timeShare === null ? null : `${share(timeShare)} of the response times`,
    loopShare === null ? null : `${share(loopShare)} of the handlers' time on the loop`,
    `p50 ${time(p50Ms)}`,
    `p99 ${time(p99Ms)}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}
