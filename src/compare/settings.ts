import { usageError } from '../errors.js';
import type { LoadOptions } from '../load/options.js';
import { parseDuration, parseShare } from '../units.js';
import type { CompareOptions } from './options.js';
import { parseRatioCondition, type RatioCondition } from './ratio-condition.js';

/** How is compared, apart from the load. */
export interface CompareSettings {
  width: number;
  margin: number;
  budgetMs: number;
  allowDifference: boolean;
  conditions: RatioCondition[];
}

export const COMPARE_DEFAULTS = {
  width: '3%',
  margin: '2%',
  budgetMs: 180_000,
  durationMs: 3000,
  warmupMs: 2000,
} as const;

const WIDTHS = { min: 0.001, max: 10 };
const MARGINS = { min: 0, max: 0.5 };
const MIN_BUDGET_MS = 5000;

/** Reads how is compared. */
export function readSettings(options: CompareOptions): CompareSettings {
  const { width, margin, budget, allowDifference = false, failOn = [] } = options;
  return {
    width: parseShare(width ?? COMPARE_DEFAULTS.width, 'width', WIDTHS),
    margin: parseShare(margin ?? COMPARE_DEFAULTS.margin, 'margin', MARGINS),
    budgetMs: readBudget(budget ?? COMPARE_DEFAULTS.budgetMs),
    allowDifference,
    conditions: [failOn].flat().map((text) => parseRatioCondition(text, 'failOn')),
  };
}

function readBudget(given: number | string): number {
  const ms = parseDuration(given, 'budget');
  if (ms >= MIN_BUDGET_MS) return ms;
  const typed = typeof given === 'number' ? `${given}ms` : given;
  throw usageError(`budget must be at least ${MIN_BUDGET_MS / 1000}s (got ${typed})`);
}

/** Reads the load that both sides have, completed by the length of its runs. */
export function readSharedLoad(options: CompareOptions): LoadOptions {
  const { a, b, width, margin, budget, allowDifference, failOn, ...load } = options;
  const { duration, requests, stages, rate, warmup } = load;
  const isTimed = duration !== undefined || requests !== undefined || stages !== undefined;
  const startsFromNone = stages !== undefined && Number(rate ?? 0) === 0;
  return {
    ...load,
    ...(!isTimed && { duration: COMPARE_DEFAULTS.durationMs }),
    warmup: warmup ?? (startsFromNone ? 0 : COMPARE_DEFAULTS.warmupMs),
  };
}
