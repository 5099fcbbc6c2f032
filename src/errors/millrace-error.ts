import { maskText } from '../masking/text.js';

/** The stable codes of the errors that millrace throws. A failed *request* is a count in a result, never an error. */
export type ErrorCode =
  /** An option, URL, file or placeholder is not valid. The message names it, the value and the accepted values. */
  | 'ERR_MILLRACE_USAGE'
  /** What is compared is not the same: the answers of two servers, or the plans of two results, differ. The message says how. */
  | 'ERR_MILLRACE_DIFFERENT'
  /** No connection to the target could be opened. The message gives the reason. */
  | 'ERR_MILLRACE_UNREACHABLE'
  /** The server's command could not be started, ended before it listened or under load, or did not listen within 30 s. */
  | 'ERR_MILLRACE_COMMAND'
  /** The load engine could not get resources from the system, or found a defect of its own. */
  | 'ERR_MILLRACE_ENGINE'
  /** The native addon is missing or is for another platform. */
  | 'ERR_MILLRACE_NATIVE';

/** Length from which on a message is cut: it may repeat a whole body. */
const MAX_MESSAGE = 4000;

/** Marks the errors of every copy of this module: the stack is in a bundle with its own. */
const kIsMillraceError = Symbol.for('millrace.error');

/** An error of millrace itself; match on `code`. Secrets in its message are masked, and a very long one is cut. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(maskText(cut(message)), options);
    this.code = code;
  }
}
Object.defineProperty(MillraceError.prototype, kIsMillraceError, { value: true });
Object.defineProperty(MillraceError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // Of a class that extends it, too, this is the method.
    if (this !== MillraceError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && kIsMillraceError in value;
  },
});

/** An `ERR_MILLRACE_USAGE`: one line that names the option, what it must be, and what it was. */
export function usageError(message: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_USAGE', message);
}

function cut(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  return `${message.slice(0, MAX_MESSAGE)}... (${message.length - MAX_MESSAGE} more characters)`;
}
