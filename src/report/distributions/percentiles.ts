import type { Durations } from '../../statistics/durations.js';

/** Points of a distribution on the percentile axis: [percentile, ms], both increasing. */
export type PercentilePoints = readonly (readonly [percentile: number, ms: number])[];

/** Points per tenfold share of slower requests: enough for a line on a screen. */
const POINTS_PER_NINE = 60;

/**
 * Lists points of a distribution on the percentile axis, dense enough for a plot. They end below 100 % where the times of
 * the rest are unknown.
 */
export function listPercentilePoints({ count, values, censoredTail }: Durations): PercentilePoints {
  const points: [number, number][] = [];
  let seen = 0;
  let before = -1;
  for (const [index, { ms, count: number }] of values.entries()) {
    seen += number;
    const isLast = index === values.length - 1;
    // The sum has rounding errors.
    const share = isLast && !censoredTail ? 1 : Math.min(1, seen / count);
    const place = Math.floor(-Math.log10(Math.max(1e-9, 1 - share)) * POINTS_PER_NINE);
    if (place === before && !isLast) continue;
    points.push([100 * share, ms]);
    before = place;
  }
  return points;
}
