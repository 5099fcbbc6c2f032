import { constants } from 'node:os';
import type { DeadlineName } from './limits.js';

/** The module whose limit fired. */
export type DeadlineSource = 'millrace/deadlines' | 'millrace/client';

/** What the call was waiting for when a limit fired. */
export type WaitingFor =
  | 'a connection'
  | 'the TLS handshake'
  | 'the response headers'
  | 'the rest of the body';

/** The facts that every error of a limit has, whatever its class. */
export interface DeadlineFacts {
  /** The limit that fired. */
  limit: DeadlineName;
  limitMs: number;
  host: string;
  /** Milliseconds since the call, or the connection, was begun. */
  elapsedMs: number;
}

/** The error that users of `node:http`, `node:net` and `node:tls` receive: that of a system timeout. */
export class DeadlineError extends Error implements DeadlineFacts {
  readonly code = 'ETIMEDOUT';
  readonly errno = -constants.errno.ETIMEDOUT;
  readonly syscall: 'connect' | 'read';
  readonly limit: DeadlineName;
  readonly limitMs: number;
  readonly host: string;
  readonly elapsedMs: number;

  constructor(facts: DeadlineFacts, waitingFor: WaitingFor) {
    super(formatMessage(facts, waitingFor, 'millrace/deadlines'));
    this.name = 'DeadlineError';
    this.syscall = waitingFor === 'a connection' ? 'connect' : 'read';
    this.limit = facts.limit;
    this.limitMs = facts.limitMs;
    this.host = facts.host;
    this.elapsedMs = facts.elapsedMs;
  }
}

const UNDICI_ERRORS: Record<WaitingFor, { name: string; code: string }> = {
  'a connection': { name: 'ConnectTimeoutError', code: 'UND_ERR_CONNECT_TIMEOUT' },
  'the TLS handshake': { name: 'ConnectTimeoutError', code: 'UND_ERR_CONNECT_TIMEOUT' },
  'the response headers': { name: 'HeadersTimeoutError', code: 'UND_ERR_HEADERS_TIMEOUT' },
  'the rest of the body': { name: 'BodyTimeoutError', code: 'UND_ERR_BODY_TIMEOUT' },
};

/**
 * Creates the error that users of undici and `fetch` receive: undici's own error for what the call was waiting for.
 * undici's classes recognize their instances by these symbols, so `instanceof errors.HeadersTimeoutError` holds for
 * any copy of undici from 6 on.
 */
export function createUndiciError(
  facts: DeadlineFacts,
  waitingFor: WaitingFor,
  source: DeadlineSource,
): Error & DeadlineFacts {
  const { name, code } = UNDICI_ERRORS[waitingFor];
  const error = Object.assign(new Error(formatMessage(facts, waitingFor, source)), { code }, facts);
  const hidden = (value: unknown) => ({ value, configurable: true, writable: true });
  return Object.defineProperties(error, {
    name: hidden(name),
    [Symbol.for('undici.error.UND_ERR')]: hidden(true),
    [Symbol.for(`undici.error.${code}`)]: hidden(true),
  });
}

function formatMessage(
  { limit, limitMs, host, elapsedMs }: DeadlineFacts,
  waitingFor: WaitingFor,
  source: DeadlineSource,
): string {
  return (
    `${host}: ${limit} limit of ${formatMs(limitMs)} reached after ` +
    `${formatMs(elapsedMs)}, waiting for ${waitingFor} (${source})`
  );
}

function formatMs(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(2))} s`;
}
