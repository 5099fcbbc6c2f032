import { usageError } from '../../errors/millrace-error.js';
import type { NativeRequest } from '../../native/addon.js';
import { parsePositiveShare } from '../../validation/units.js';
import type { LoadOptions } from '../options.js';

/** The field of a W3C trace context. */
const FIELD = 'traceparent';

/** Reads which share of the requests has a trace context; `null`: none. */
export function readTraceparent(
  { traceparent }: LoadOptions,
  requests: readonly NativeRequest[],
): number | null {
  if (traceparent === undefined) return null;
  const share = parsePositiveShare(traceparent, FIELD);
  if (requests.some(({ headers }) => headers.some(({ name }) => name.toLowerCase() === FIELD))) {
    throw usageError(
      `${FIELD} gives requests a header that one of them has already: leave out one of the two`,
    );
  }
  return share;
}
