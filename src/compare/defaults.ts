/** Every default of a comparison. */
export const COMPARE_DEFAULTS = {
  width: '3%',
  margin: '2%',
  budgetMs: 180_000,
  durationMs: 1000,
  warmupMs: 1000,
  allowDifference: false,
} as const;

/** Accepted range of each number. */
export const COMPARE_LIMITS = {
  width: { min: 0.001, max: 10 },
  margin: { min: 0, max: 0.5 },
} as const;
