import type { Interval } from '../../../statistics/types.js';

/**
 * Least distance of the ends of a predicted range from its middle, as shares of it. Two starts of the same service
 * differ by up to 16 %. Upwards there is more: with less work per request caches and compiled code serve the rest
 * better, which no share of the time shows.
 */
const MIN_BELOW = 0.16; // Source: measured: two starts of one service differ by up to 16 %
const MIN_ABOVE = 0.26;
/** Maximum of these distances, however much the blocks vary. */
const MAX_DISTANCE = 0.5;
/** Ratio of the ends up to which a range is widened; one that is wider includes the variation, except at its upper end. */
const MAX_RATIO = 1.5;
const WIDE_MARGIN = 1.08;
/** Maximum distance of the ends of an interval of few pairs, as a share of the measured ratio. */
const MAX_INTERVAL = 0.2;

/**
 * Widens a predicted range to the variation of throughput, which applies to every prediction. `noise` is the smallest
 * relative change that differs from noise: where it exceeds the least distance, it takes its place.
 */
export function coverVariation({ low, high }: Interval, noise: number): Interval {
  if (high > 1.01 * MAX_RATIO * low) return { low, high: WIDE_MARGIN * high };
  const middle = (low + high) / 2;
  const below = Math.min(MAX_DISTANCE, Math.max(MIN_BELOW, noise));
  const above = Math.min(MAX_DISTANCE, Math.max(MIN_ABOVE, noise));
  const maxRatio = Math.max(MAX_RATIO, (1 + above) / (1 - below));
  const wideHigh = Math.max(high, Math.min(middle * (1 + above), maxRatio * low));
  const wideLow = Math.min(low, Math.max(middle * (1 - below), wideHigh / maxRatio));
  return {
    low: wideLow,
    high: Math.max(wideHigh, Math.min(middle * (1 + above), maxRatio * wideLow)),
  };
}

/** Limits the distance of an interval's ends from the ratio: that of few pairs reaches far beyond what they measured. */
export function limitInterval(ratio: number, distance: number): Interval {
  const off = Math.min(distance, MAX_INTERVAL * ratio);
  return { low: Math.max(1, ratio - off), high: ratio + off };
}
