import { estimateRatio } from '../../statistics/ratio.js';
import type { MeasuredRatio } from '../../statistics/types.js';
import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import { describeFailure, ProbeFailure } from '../target/probe-effect.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import type { Experiment } from './experiment.js';

/** Blocks of the unchanged load and of each experiment, in the order of the rounds. */
export interface MeasuredBlocks {
  base: Observation[];
  changed: Map<ExperimentName, Observation[]>;
}

/** Orders the blocks of a round: every other round runs backwards, so that drift affects every variant equally. */
function orderKinds<T>(round: number, kinds: T[]): T[] {
  return round % 2 === 0 ? kinds : [...kinds].reverse();
}

/**
 * Runs rounds of one block per experiment and one of the unchanged load, until the number of rounds or the time is
 * reached. Adds them to `blocks`; an incomplete round is left out.
 */
export async function runRounds(
  subject: ServerUnderTest,
  metrics: Metrics,
  experiments: Experiment[],
  blocks: MeasuredBlocks,
  {
    length,
    rounds,
    untilMs,
    onBlock,
    onMeasured,
    onRound,
    onFailed,
  }: {
    length: BlockLength;
    rounds: number;
    /** Time of the end, on the clock of `performance.now()`. */
    untilMs: number;
    onBlock?: (what: string) => void;
    /** Called after each block; `null` is the unchanged load. */
    onMeasured?: (experiment: Experiment | null, block: Observation) => void;
    /** Called for an experiment that failed and is left out. */
    onFailed?: (name: ExperimentName, why: string) => void;
    /** Called and awaited after each round. */
    onRound?: () => Promise<void>;
  },
): Promise<void> {
  const kinds = [null, ...experiments];
  const failed = new Set<Experiment>();
  const perRound = kinds.length * (length.settleMs + length.measureMs);
  for (let round = 0; round < rounds; round += 1) {
    if (round >= 2 && performance.now() + perRound > untilMs) break;
    const seen = new Map<ExperimentName | null, Observation>();
    for (const experiment of orderKinds(round, kinds)) {
      if (experiment && failed.has(experiment)) continue;
      onBlock?.(experiment ? EXPERIMENT_LABELS[experiment.name] : 'the unchanged load');
      const change = experiment?.change(metrics, subject.options);
      try {
        const block = await subject.runBlock(length, change);
        onMeasured?.(experiment, block);
        seen.set(experiment?.name ?? null, block);
      } catch (error) {
        if (!(error instanceof ProbeFailure) || !experiment) throw error;
        failed.add(experiment);
        blocks.changed.delete(experiment.name);
        onFailed?.(experiment.name, describeFailure(error));
      }
    }
    await onRound?.();
    for (const [name, block] of seen) {
      if (name === null) blocks.base.push(block);
      else blocks.changed.set(name, [...(blocks.changed.get(name) ?? []), block]);
    }
  }
}

/** Measures the ratio of a quantity after / before over pairs of the same round; `null` with fewer than two pairs. */
export function measureRatio(
  before: Observation[],
  after: Observation[],
  read: (block: Observation) => number | null = ({ throughput }) => throughput,
): MeasuredRatio | null {
  const pairs = after.flatMap((block, index): [number, number][] => {
    const [a, b] = [before[index] ? read(before[index]) : null, read(block)];
    return a !== null && b !== null && a > 0 && b > 0 ? [[a, b]] : [];
  });
  return pairs.length >= 2 ? estimateRatio(pairs) : null;
}
