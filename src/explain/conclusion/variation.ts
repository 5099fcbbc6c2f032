import type { Variation } from '../findings.js';
import type { ExperimentResult } from '../result.js';

/** Minimum number of blocks that show a variation. */
const MIN_BLOCKS = 3;
/** Minimum ratio of the fastest to the slowest unchanged block at which their difference hides effects. */
const MIN_RATIO = 1.3;
/** Share of an effect from which on a variation is nearly as large. */
const NEARLY = 0.8;

/** Measures how much blocks of the unchanged load differ; `null` if there are too few, or they hardly differ. */
export function measureVariation(throughputs: readonly number[]): Variation | null {
  const seen = throughputs.filter((value) => value > 0);
  if (seen.length < MIN_BLOCKS) return null;
  const [lowest, highest] = [Math.min(...seen), Math.max(...seen)];
  return highest >= MIN_RATIO * lowest ? { lowest, highest } : null;
}

/** Whether unchanged blocks differ by nearly as much as the largest effect of these experiments on throughput. */
export function hidesEffects(
  variation: Variation | null,
  experiments: readonly ExperimentResult[],
): boolean {
  if (!variation) return false;
  const effects = experiments
    .filter(({ metric }) => metric === 'throughput')
    .map(({ measured }) => Math.abs(Math.log(Math.max(1e-9, measured.ratio))));
  return Math.log(variation.highest / variation.lowest) >= NEARLY * Math.max(0, ...effects);
}
