import type { MeasuredRatio } from '../../statistics/types.js';
import { measureRatio } from '../experiments/interleaved-rounds.js';
import { type ProbeHub, withProbePaused } from '../observe/probe/hub.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { Change } from '../target/change.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import type { TimeBudget } from './time-budget.js';

/** Maximum number of pairs that measure the probe's cost. */
const MAX_PAIRS = 5;
/** Minimum length of a repeated experiment. Code that runs more often than before has to be compiled first. */
const REPEAT_LENGTH: BlockLength = { settleMs: 2000, measureMs: 2000 }; // Source: docs/decisions/0006-explain.md

const WITHOUT_PROBE: Change = {
  probe: {
    on: { name: 'subscribe', options: { on: false } },
    off: { name: 'subscribe', options: { on: true } },
  },
};

/**
 * Compares throughput with and without the probe's subscriptions, as long as there is time. Returns `null` without a
 * result.
 *
 * @param onFailure receives an error that ends the comparison; the pairs before it count
 */
export async function measureProbeCost(
  subject: ServerUnderTest,
  length: BlockLength,
  budget: TimeBudget,
  reserveMs: number,
  onFailure: (error: unknown) => void,
): Promise<MeasuredRatio | null> {
  const [on, without]: [Observation[], Observation[]] = [[], []];
  try {
    for (let pair = 0; pair < MAX_PAIRS; pair += 1) {
      if (!budget.fits(2 * budget.blockMs, reserveMs)) break;
      const order = pair % 2 === 0 ? [WITHOUT_PROBE, undefined] : [undefined, WITHOUT_PROBE];
      for (const change of order) {
        const block = await subject.runBlock(length, change);
        (change ? without : on).push(block);
      }
    }
  } catch (error) {
    onFailure(error);
  }
  return measureRatio(without, on);
}

/** Returns the length of a repeated experiment. */
export function computeRepeatLength({ settleMs, measureMs }: BlockLength): BlockLength {
  return {
    settleMs: Math.max(REPEAT_LENGTH.settleMs, settleMs),
    measureMs: Math.max(REPEAT_LENGTH.measureMs, measureMs),
  };
}

/**
 * Runs a change for longer than in an experiment, while the probe is paused.
 *
 * @param onFailure receives the reason if the probe cannot be resumed
 */
export function repeatChange(
  subject: ServerUnderTest,
  hub: ProbeHub | null,
  length: BlockLength,
  change: Change,
  onFailure: (why: string) => void,
): Promise<Observation> {
  return withProbePaused(hub, () => subject.runBlock(length, change), onFailure);
}
