/** Every default of a watch, in milliseconds: the time between reports, and the lengths of windows. */
export const WATCH_DEFAULTS = {
  intervalMs: 60_000,
  untilMs: 5000,
  /** Length of the windows in which a change of the limit is looked for. */
  stepMs: 5000,
} as const;

/** Range of the time between reports. The readings of a whole interval are kept in memory. */
export const WATCH_INTERVAL_MS = { min: 1000, max: 600_000 } as const;
