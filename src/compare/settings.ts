import type { LoadOptions } from '../load/options.js';
import { parseDuration, parseShare } from '../validation/units.js';
import { COMPARE_DEFAULTS, COMPARE_LIMITS } from './defaults.js';
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

/** Reads how is compared. */
export function readSettings(options: CompareOptions): CompareSettings {
  const {
    width,
    margin,
    budget,
    allowDifference = COMPARE_DEFAULTS.allowDifference,
    failOn = [],
  } = options;
  return {
    width: parseShare(width ?? COMPARE_DEFAULTS.width, 'width', COMPARE_LIMITS.width),
    margin: parseShare(margin ?? COMPARE_DEFAULTS.margin, 'margin', COMPARE_LIMITS.margin),
    budgetMs: parseDuration(budget ?? COMPARE_DEFAULTS.budgetMs, 'budget'),
    allowDifference,
    conditions: [failOn].flat().map((text) => parseRatioCondition(text, 'failOn')),
  };
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
