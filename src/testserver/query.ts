import { parseDelay, parseSize, parseStatus } from './options.js';

/** Changes of a response that the query of its request asks for. */
export interface QueryChanges {
  delayMs?: number;
  status?: number;
  size?: number;
}

/**
 * Reads `?delay=20&status=503&size=1000`. Bare digits are milliseconds and bytes, as in the API. Other parameters are
 * ignored.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` on an invalid value.
 */
export function readQuery(url: string): QueryChanges {
  const changes: QueryChanges = {};
  const query = new URLSearchParams(url.slice(url.indexOf('?')));
  const [delay, status, size] = ['delay', 'status', 'size'].map((name) => query.get(name));
  if (delay) changes.delayMs = parseDelay(/^\d+$/.test(delay) ? Number(delay) : delay);
  if (status) changes.status = parseStatus(status);
  if (size) changes.size = parseSize(size);
  return changes;
}
