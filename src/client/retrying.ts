import type { RequestOptions } from './options.js';

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
const STATUSES = new Set([502, 503, 504]);
const CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['EAI_AGAIN', 'ENOTFOUND', 'UND_ERR_SOCKET'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
]);

/** Whether a call may be made twice: it changes nothing more then, and its body can be sent again. */
export function isRepeatable({ method = 'GET', body }: RequestOptions): boolean {
  const isWhole = body == null || typeof body === 'string' || body instanceof Uint8Array;
  return isWhole && IDEMPOTENT.has(method.toUpperCase());
}

/** A failure that another try may not meet. */
export function isPassing(error: unknown): boolean {
  return CODES.has(codeOf(error));
}

export function isPassingStatus(status: number): boolean {
  return STATUSES.has(status);
}

export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** What a response asks for by `Retry-After`, seconds or a date, in milliseconds. */
export function askedWait(field: unknown): number {
  if (typeof field !== 'string') return 0;
  const ms = /^\s*\d+\s*$/.test(field) ? Number(field) * 1000 : Date.parse(field) - Date.now();
  return Math.max(ms, 0);
}

/** Before a try, at random, so that those who failed together do not come back together. */
export function backoff(base: number, earlier: number): number {
  return Math.random() * base * 2 ** earlier;
}
