import { usageError } from '../errors/millrace-error.js';
import { findNearest } from '../validation/nearest.js';

/** Names of the statuses of gRPC, by number. Numbers below 100 are statuses of gRPC, others those of HTTP. */
const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** Returns how a status is shown: one of gRPC by its name, one of HTTP by its number. */
export function formatStatus(status: number | string): string {
  return NAMES[Number(status)] ?? String(status);
}

/**
 * Replaces the number by the name in a text such as `status 5 in: no%20item`, as those of the engine are, and decodes the
 * rest, which is the call's `grpc-message`.
 */
export function nameStatus(text: string): string {
  const [, number, rest = ''] = /^status (\d{1,2})(?: in)?(:.*)?$/s.exec(text) ?? [];
  return number === undefined ? text : `status ${formatStatus(number)}${decodeMessage(rest)}`;
}

/** Decodes the field `grpc-message` in the head of a response, for people. */
export function decodeGrpcMessage(head: string): string {
  return head.replace(/^(grpc-message: *)(.*)$/im, (_, name, value) => name + decodeMessage(value));
}

/** Decodes a message of a status, which is percent-encoded UTF-8; what is not, or has control characters, stays as it is. */
function decodeMessage(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    return /\p{Cc}/u.test(decoded) ? text : decoded;
  } catch {
    return text;
  }
}

/** Whether a status says that a request failed: one of HTTP from 400 on, or one of gRPC other than OK. */
export function isErrorStatus(status: number): boolean {
  return status >= 400 || (status > 0 && status < 100);
}

/** Finds the number of a status of gRPC by its name, as in `NOT_FOUND` or `NotFound`, or by its number; `null`: it is none. */
export function findGrpcStatus(text: string): number | null {
  if (/^\d{1,2}$/.test(text)) return Number(text) < NAMES.length ? Number(text) : null;
  return NUMBERS.get(toKey(text)) ?? null;
}

// Libraries for Go write Canceled and DeadlineExceeded.
const toKey = (name: string) => name.replaceAll('_', '').toUpperCase();

const NUMBERS = new Map<string, number>([
  ...NAMES.map((name, number) => [toKey(name), number] as const),
  ['CANCELED', NAMES.indexOf('CANCELLED')],
]);

/** Refuses a word that looks like the name of a status of gRPC, and is none. */
export function refuseOtherName(word: string, where: string): void {
  if (!/^[a-z_]{2,}$/i.test(word)) return;
  const near = findNearest(word.toUpperCase(), NAMES);
  throw usageError(
    `${where}: gRPC has no status '${word}'; ${near ? `did you mean ${near}?` : `it has ${NAMES.join(', ')}`}`,
  );
}
