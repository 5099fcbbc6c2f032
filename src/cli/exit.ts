import { MillraceError } from '../errors.js';
import type { LoadResult } from '../index.js';

/** The exit codes of the command line. */
export const EXIT = {
  ok: 0,
  /** The engine or its addon failed, or something unforeseen. */
  failure: 1,
  usage: 2,
  /** The target could not be reached, or every request failed. */
  unreachable: 3,
  /** Client-bound under `--strict`, or the rate was not reached. */
  notMeasured: 4,
  /** A `--fail-on` failed. */
  failOn: 99,
} as const;

/** The exit code of a run: the first that applies of 3, 99, 4. */
export function exitCode(
  result: LoadResult,
  { strict, failedConditions }: { strict: boolean; failedConditions: number },
): number {
  const warned = (id: string) => result.warnings.some((warning) => warning.id === id);
  const { ok, sent, inFlightAtEnd } = result.requests;
  // Requests that are still under way when a short run ends have not failed.
  const allFailed = ok === 0 && (sent === 0 || sent > inFlightAtEnd);
  if (allFailed || warned('server-ended')) return EXIT.unreachable;
  if (failedConditions > 0) return EXIT.failOn;
  if ((strict && result.generator.clientBound) || warned('rate-not-reached')) {
    return EXIT.notMeasured;
  }
  return EXIT.ok;
}

/** The exit code of a run that has no result. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof MillraceError)) return EXIT.failure;
  switch (error.code) {
    case 'ERR_MILLRACE_USAGE':
      return EXIT.usage;
    case 'ERR_MILLRACE_UNREACHABLE':
    case 'ERR_MILLRACE_COMMAND':
      return EXIT.unreachable;
    default:
      return EXIT.failure;
  }
}
