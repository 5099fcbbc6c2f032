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
/** Every default of a watch, in milliseconds: the time between reports, and the lengths of windows. */
export const WATCH_DEFAULTS = {
  intervalMs: 60_000,
  untilMs: 5000,
  /** Length of the windows in which a change of the limit is looked for. */
  stepMs: 5000,
  /** Length of the profile of a busy loop, at most one in a report. */
  profileMs: 1000,
  /** For how long it is observed what requests wait for, at most once in a report. */
  waitsMs: 2000,
} as const;

/** Range of the time between reports. The readings of a whole interval are kept in memory. */
export const WATCH_INTERVAL_MS = { min: 1000, max: 600_000 } as const;
