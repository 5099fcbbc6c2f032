import type { CompareOptions, CompareSide, ComparisonSideName } from '../../../index.js';
import type { Invocation } from '../load/invocation.js';

/** What the flags and operands of `millrace compare` stand for. */
export interface CompareInvocation extends Invocation {
  own: Pick<CompareOptions, 'width' | 'budget' | 'margin' | 'allowDifference'>;
  /** The two sides, complete once the operands are read. */
  sides: Record<ComparisonSideName, CompareSide>;
  /** The values of `--a` and `--b`. */
  given: Record<ComparisonSideName, string[]>;
  /** Whether A is Node's own HTTP stack and B is Millrace's. */
  stack: boolean;
  /** Conditions on ratios. */
  ratios: string[];
}
