/** Every default of the lab. */
export const LAB_DEFAULTS = { quick: false } as const;
