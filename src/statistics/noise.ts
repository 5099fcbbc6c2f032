/** What is told from noise at best: 3 %. */
const MIN_NOISE = 0.03;

/** What is assumed of a machine that was not seen twice. */
const DEFAULT_NOISE = 0.1;

/**
 * The smallest change of a block's figure that is told from noise, as a share, from blocks of the same setting: twice the
 * mean |log ratio| of any two of them, at least 3 %. Of two blocks it is the rule max(3 %, 2 |A/A|).
 */
export function estimateNoiseFloor(blocks: readonly number[]): number {
  const logs = blocks.filter((value) => value > 0).map(Math.log);
  const differences = logs.flatMap((a, i) => logs.slice(i + 1).map((b) => Math.abs(a - b)));
  if (differences.length === 0) return DEFAULT_NOISE;
  const sum = differences.reduce((total, difference) => total + difference, 0);
  return Math.max(MIN_NOISE, (2 * sum) / differences.length);
}

/** Intervals of experiments are widened by no more: what swings from block to block is in them already. */
const MAX_TOLERANCE = 0.1;

/** The share by which intervals are widened for what lasts longer than a round. */
export function limitTolerance(noise: number): number {
  return Math.min(MAX_TOLERANCE, noise);
}
