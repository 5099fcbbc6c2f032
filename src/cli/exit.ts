import { MillraceError } from '../errors/millrace-error.js';
import type { LoadResult } from '../index.js';
import { hasNoSuccess } from '../load/answered.js';

/** The exit codes of the command line; `EXIT_CODES` has their meanings. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  unreachable: 3,
  notMeasured: 4,
  different: 5,
  failOn: 99,
  /** 128 and the number of SIGINT, as shells have it. */
  interrupted: 130,
} as const;

/** The meanings of the exit codes for the help and the reference page, in the order in which they are tried. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.usage, 'usage'],
  [
    EXIT.interrupted,
    'interrupted before a request, twice, or with --fail-on or --strict, unless 99',
  ],
  [EXIT.unreachable, 'target not reached, command failed, or no request or iteration a success'],
  [EXIT.different, 'answers or plans differ'],
  [EXIT.failOn, 'a --fail-on failed, or no rate holds --slo'],
  [
    EXIT.notMeasured,
    'client-bound (--strict), below 95 % of the rate, a host failed, compare undecided, or no rate found',
  ],
  [EXIT.failure, 'millrace failed'],
  [EXIT.ok, 'none of these'],
];

/** Derives the exit code of a run that has a result. */
export function exitCode(
  result: LoadResult,
  gate: { strict: boolean; conditions: number; failedConditions: number },
): number {
  const hasWarning = (id: string) => result.warnings.some((warning) => warning.id === id);
  if (result.interrupted && result.requests.sent === 0) return EXIT.interrupted;
  // No iteration: the report has a line with the step that failed.
  if (hasNoSuccess(result) || hasNoIteration(result)) return EXIT.unreachable;
  if (hasWarning('server-ended') || hasWarning('target-not-reached')) return EXIT.unreachable;
  if (gate.failedConditions > 0) return EXIT.failOn;
  // A part of a run does not fulfil a condition.
  if (result.interrupted && (gate.strict || gate.conditions > 0)) return EXIT.interrupted;
  if (hasWarning('host-failed') || hasWarning('rate-not-reached')) return EXIT.notMeasured;
  if (gate.strict && result.generator.clientBound) {
    return EXIT.notMeasured;
  }
  return EXIT.ok;
}

/** Whether no iteration of scenarios was completed. One that was interrupted might have been. */
function hasNoIteration({ iterations, interrupted }: LoadResult): boolean {
  return iterations?.completed === 0 && !(interrupted && iterations.failed === 0);
}

/** Derives the exit code of a run that failed. */
export function toExitCode(error: unknown): number {
  if (!(error instanceof MillraceError)) return EXIT.failure;
  switch (error.code) {
    case 'ERR_MILLRACE_USAGE':
      return EXIT.usage;
    case 'ERR_MILLRACE_DIFFERENT':
      return EXIT.different;
    case 'ERR_MILLRACE_UNREACHABLE':
    case 'ERR_MILLRACE_COMMAND':
      return EXIT.unreachable;
    default:
      return EXIT.failure;
  }
}
