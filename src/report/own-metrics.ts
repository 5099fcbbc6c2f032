import { count, significant } from '../format/units.js';

/** Formats the sum of an own metric, which may count: in full from 100 on. */
export function formatTotal(sum: number): string {
  return Math.abs(sum) >= 100 ? count(sum) : significant(sum);
}
