import type { LoadOptions } from '../../index.js';
import type { Condition } from '../../load/plan/condition.js';

/** What a command line asks for. */
export interface Invocation {
  options: LoadOptions;
  json: boolean;
  /** File for the result as JSON. */
  output?: string;
  /** File for the page. */
  html?: string;
  strict: boolean;
  failOn: Condition[];
  abortOnFail: boolean;
  progress: boolean;
  /** The target is the demo's. */
  demo: boolean;
  /** The command line itself. */
  args: string[];
  /** How values were understood that mean something else in another tool. */
  notes: string[];
}

/** Nothing asked for yet. */
export function newInvocation(): Invocation {
  return {
    options: {},
    json: false,
    strict: false,
    failOn: [],
    abortOnFail: false,
    progress: true,
    demo: false,
    args: [],
    notes: [],
  };
}
