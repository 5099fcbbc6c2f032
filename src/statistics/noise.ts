/** Minimum noise floor: 3 %. */
const MIN_NOISE = 0.03;

/** Noise floor that is assumed if there are no two blocks to compare. */
const DEFAULT_NOISE = 0.1;

/**
 * Estimates the smallest relative change that differs from noise, from blocks of the same load: twice the mean
 * |log ratio| of all pairs of blocks, and at least 3 %. For two blocks this is max(3 %, 2 |A/A|).
 */
export function estimateNoiseFloor(blocks: readonly number[]): number {
  const logs = blocks.filter((value) => value > 0).map(Math.log);
  const differences = logs.flatMap((a, i) => logs.slice(i + 1).map((b) => Math.abs(a - b)));
  if (differences.length === 0) return DEFAULT_NOISE;
  const sum = differences.reduce((total, difference) => total + difference, 0);
  return Math.max(MIN_NOISE, (2 * sum) / differences.length);
}

/** Maximum share by which intervals are widened, as they include the variation between blocks already. */
const MAX_TOLERANCE = 0.1;

/** Limits the noise to the share by which intervals are widened, for variation that lasts longer than a round. */
export function limitTolerance(noise: number): number {
  return Math.min(MAX_TOLERANCE, noise);
}
