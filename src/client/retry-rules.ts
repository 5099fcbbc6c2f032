import type { PreparedRequest } from './prepared-request.js';

const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
const TRANSIENT_STATUSES = new Set([502, 503, 504]);
const TRANSIENT_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'UND_ERR_SOCKET'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
]);

/** Whether a call may be repeated: it is idempotent, and its body can be sent again. */
export function isRepeatable({ method, body }: PreparedRequest): boolean {
  return body.isReplayable && IDEMPOTENT_METHODS.has(method);
}

/**
 * Whether a call may share its connection with others. If one of them is aborted, the connection ends, and undici
 * sends the requests before it again.
 */
export function canBePipelined({ method, body }: PreparedRequest): boolean {
  return body.isEmpty && method === 'GET';
}

/** Whether a further try may succeed after this error. */
export function isTransientError(error: unknown): boolean {
  return TRANSIENT_CODES.has(getErrorCode(error));
}

export function isTransientStatus(status: number): boolean {
  return TRANSIENT_STATUSES.has(status);
}

export function getErrorCode(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Parses `Retry-After`, seconds or a date; returns milliseconds, 0 where it is neither. */
export function parseRetryAfter(field: unknown): number {
  if (typeof field !== 'string') return 0;
  const text = field.trim();
  // Very long digits are infinity, which is longer than any call may wait.
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!HTTP_DATE.test(text)) return 0;
  // The oldest of the three date formats has no zone; it is GMT.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** The beginning of an HTTP date: `Date.parse` alone accepts almost any text. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/** Computes a random delay before a try, so that calls that failed together do not return together. */
export function computeBackoff(baseDelay: number, retry: number): number {
  return Math.random() * baseDelay * 2 ** retry;
}
