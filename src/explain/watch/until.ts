import { usageError } from '../../errors/millrace-error.js';
import { parseCondition } from '../../load/plan/condition.js';
import type { LoadResult } from '../../load/result.js';

/** A condition to wait for. */
export interface Until {
  /** As the user wrote it. */
  text: string;
  /** Whether it is about the rate of requests, which clients decide. */
  isOfRate: boolean;
  /** Returns the value that fulfils the condition; `null` if it does not hold, or there is no response. */
  findValue(load: LoadResult): number | null;
}

/** The opposite of each comparison: what must hold until the condition does. */
const OPPOSITES: Record<string, string> = { '>': '<=', '>=': '<', '<': '>=', '<=': '>' };

const SYNTAX = /^(mean|p\d\d(?:\.9)?|max|throughput|rate|errors)\s*(>=?|<=?)\s*(\S+)$/i;

/**
 * Parses a condition to wait for, such as `p99>500ms`: the opposite of one of `--fail-on`, which says what must hold.
 *
 * @param option the name of the option or flag
 */
export function parseUntil(text: string, option: string): Until {
  const [, metric = '', comparison = '', bound = ''] = SYNTAX.exec(text.trim()) ?? [];
  const opposite = OPPOSITES[comparison];
  const isRate = /^(throughput|rate)$/i.test(metric);
  if (opposite === undefined || (!isRate && comparison.startsWith('<'))) {
    throw refuse(text, option);
  }
  const holds = `${isRate ? 'throughput' : metric}${opposite}${bound}`;
  const condition = readCondition(holds, text, option);
  const isBeyondAll = comparison === '>' ? condition.bound >= 1 : condition.bound > 1;
  if (bound.endsWith('%') && isBeyondAll)
    throw usageError(`${option}: at most 100% of the requests are errors (got '${text}')`);
  return {
    text: text.trim(),
    isOfRate: isRate,
    findValue(load) {
      const value = condition.measured(load);
      if (value === null) return null;
      // Without a response there are no times and no errors.
      if (load.latencyMs.count === 0) return isRate && comparison.startsWith('<') ? 0 : null;
      return condition.failure(load) === null ? null : value;
    },
  };
}

function readCondition(holds: string, text: string, option: string) {
  try {
    return parseCondition(holds, option);
  } catch {
    throw refuse(text, option);
  }
}

function refuse(text: string, option: string) {
  return usageError(
    `${option} must be a condition to wait for, such as 'p99>500ms', 'mean>50ms', 'max>2s', 'errors>1%', 'rate>1000' or 'rate<10' (got '${text}')`,
  );
}
