import type { Call } from './call.js';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
const STATUSES = new Set([502, 503, 504]);
const CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'UND_ERR_SOCKET'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
]);

/** Whether a call may be made twice: it changes nothing more then, and its body can be sent again. */
export function isRepeatable({ method, body }: Call): boolean {
  return body.isWhole && IDEMPOTENT.has(method);
}

/**
 * Whether a call may share its connection. Calls that do share its fate: where one is given up the connection ends, and
 * undici sends again what was before it.
 */
export function isPipelined({ method, body }: Call): boolean {
  return body.isNone && method === 'GET';
}

/** A failure that another try may not meet. */
export function isTransientError(error: unknown): boolean {
  return CODES.has(codeOf(error));
}

export function isTransientStatus(status: number): boolean {
  return STATUSES.has(status);
}

export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** What a response asks for by `Retry-After`, seconds or a date, in milliseconds; 0 where it says neither. */
export function askedWait(field: unknown): number {
  if (typeof field !== 'string') return 0;
  const text = field.trim();
  // Digits without end are infinity, which is longer than any call may wait.
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!HTTP_DATE.test(text)) return 0;
  // The oldest form of a date has no zone, and means the same one.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(ms, 0);
}

/** `Date.parse` alone finds dates in almost anything. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/** Before a try, at random, so that those who failed together do not come back together. */
export function backoff(base: number, earlier: number): number {
  return Math.random() * base * 2 ** earlier;
}
