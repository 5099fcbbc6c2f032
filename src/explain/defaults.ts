/** Every default of an explanation; times in milliseconds. */
export const EXPLAIN_DEFAULTS = {
  budgetMs: 60_000,
  /** The shortest and the longest warm-up of a server that needs no more. */
  warmupMs: [1500, 5000],
  attach: false,
  allowMoreLoad: false,
  /** Frames of the stack of a wait: enough for the service's own code under a framework. */
  waitStacks: 16,
  allowDependencyExperiments: false,
} as const;

/** Range of `waitStacks`. */
export const WAIT_STACKS = [1, 200] as const;

/** Minimum budget: a shorter one leaves no time for experiments. */
export const MIN_BUDGET_MS = 15_000;
