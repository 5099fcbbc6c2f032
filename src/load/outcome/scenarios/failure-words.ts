import type { StepFailureReason, StepResult } from '../../result.js';

const WORDS: Record<StepFailureReason, string> = {
  status: 'error status',
  transport: 'no response',
  check: 'check failed',
  save: 'nothing to save',
  variable: 'variable without a value',
  header: 'line break in a header field',
  body: 'body not readable',
  hook: 'hook threw',
};

/** Puts the reason of a step's failure into words; one of a later version is its own. */
export function describeReason(reason: StepFailureReason): string {
  return WORDS[reason] ?? reason;
}

/** Counts the failures of a step. */
export function countFailures({ failures }: Pick<StepResult, 'failures'>): number {
  return failures.reduce((sum, { count }) => sum + count, 0);
}
