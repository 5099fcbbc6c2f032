import type { CapacityEstimate } from '../../capacity/model/fit.js';
import { rate } from '../../format/units.js';

/** The result of a capacity run in words. */
export interface CapacityAnswer {
  sentence: string;
  /** The reasoning, a line each. */
  grounds: string[];
  /** Why the run ended, if that leaves the answer incomplete. */
  warnings: string[];
}

/** Formats the 95 % interval of an estimate, which may have no upper end. */
export function formatInterval({ low, high }: CapacityEstimate, format = rate): string {
  return hasUpperEnd(high)
    ? `95 %: ${format(low)} to ${format(high)}`
    : `95 %: at least ${format(low)}`;
}

/** Whether the upper end of an interval is known: otherwise it is Infinity, or `null` when read from JSON. */
export function hasUpperEnd(high: number): boolean {
  return Number.isFinite(high);
}
