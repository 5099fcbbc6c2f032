import { DEFAULTS } from '../load/defaults.js';

/** Every default of a measurement of capacity; times in milliseconds. */
export const CAPACITY_DEFAULTS = {
  budgetMs: 60_000,
  /** Maximum connections of a sweep: beyond the knee of most services, and within the usual limit of descriptors. */
  connections: 1024,
  /** Maximum connections of a search. */
  openConnections: DEFAULTS.openConnections,
  /** Of a search: independent clients. */
  arrivals: 'poisson',
} as const;

/** Minimum budget: a shorter one leaves no time for a block that counts. */
export const MIN_BUDGET_MS = 5000;
