import { usageError } from '../errors/millrace-error.js';
import { type Http2Error, parseHttp2Error } from './http2-error.js';
import { parseDelay, parseSize, parseStatus } from './options.js';

/** Changes of a response that the query of its request asks for. */
export interface QueryChanges {
  delayMs?: number;
  status?: number;
  size?: number;
  /** Name and value of a trailer field. */
  trailer?: [string, string];
  /** The stream is reset with this error in place of a response; over HTTP/1.1 the connection ends. */
  reset?: number;
  /** The connection ends with this error, and this is its last request. */
  goaway?: number;
}

/**
 * Reads `?delay=20&status=503&size=1000`, `&trailer=name:value`, `&reset=REFUSED_STREAM` and `&goaway=NO_ERROR`. Bare digits
 * are milliseconds and bytes, as in the API. Other parameters are ignored.
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
  const trailer = query.get('trailer');
  if (trailer) changes.trailer = parseTrailer(trailer);
  const error = (name: string, usual: Http2Error) =>
    query.has(name) ? { [name]: parseHttp2Error(query.get(name) || usual, name) } : {};
  return { ...changes, ...error('reset', 'INTERNAL_ERROR'), ...error('goaway', 'NO_ERROR') };
}

/** Parses `name:value`. */
function parseTrailer(text: string): [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`trailer must be name:value (got '${text}')`);
}
