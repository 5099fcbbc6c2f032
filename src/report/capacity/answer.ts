import type { Estimate } from '../../capacity/model/fit.js';
import { rate } from '../../format/units.js';

/** What a capacity run found out, in words. */
export interface CapacityAnswer {
  sentence: string;
  /** What it rests on, a line each. */
  grounds: string[];
  /** What ended the run, where that leaves something open. */
  warnings: string[];
}

/** The 95 % interval of an estimate; without an upper end only the lower one is known. */
export function formatInterval({ low, high }: Estimate, format = rate): string {
  return hasUpperEnd(high)
    ? `95 %: ${format(low)} to ${format(high)}`
    : `95 %: at least ${format(low)}`;
}

/** Whether an interval has this upper end: without one it is Infinity, and `null` when read from JSON. */
export function hasUpperEnd(high: number): boolean {
  return Number.isFinite(high);
}
