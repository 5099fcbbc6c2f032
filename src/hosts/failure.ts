import { type ErrorCode, MillraceError } from '../errors/millrace-error.js';

/** Why a host could not be used, or has no result. */
export interface HostFailure {
  host: string;
  /** In one line, without the host's name, with what to do. */
  message: string;
  code: ErrorCode;
}

/** No host could run its share, or one was refused before the start. The message has a line for each, as `failures` has. */
export class HostsError extends MillraceError {
  readonly failures: readonly HostFailure[];

  constructor(failures: readonly HostFailure[]) {
    super(chooseCode(failures), failures.map(formatFailure).join('\n'));
    this.failures = failures;
  }
}

/** The failure of one host, as an error. */
export class HostError extends Error {
  readonly failure: HostFailure;

  constructor(failure: HostFailure) {
    super(formatFailure(failure));
    this.failure = failure;
  }
}

/** Formats a failure as a line. */
export function formatFailure({ host, message }: HostFailure): string {
  return `${host}: ${message}`;
}

/** A host that cannot be reached, or cannot run its share, outweighs one that must not be used. */
function chooseCode(failures: readonly HostFailure[]): ErrorCode {
  const areRefused = failures.every(({ code }) => code === 'ERR_MILLRACE_USAGE');
  return areRefused ? 'ERR_MILLRACE_USAGE' : 'ERR_MILLRACE_UNREACHABLE';
}
