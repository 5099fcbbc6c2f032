import { setTimeout as sleep } from 'node:timers/promises';
import type { WaitSamples } from '../../probe/protocol.cjs';
import { measureRatio } from '../experiments/interleaved-rounds.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { toWaitPaths } from '../waits/wait-paths.js';
import type { ObservedWaits } from '../waits/waits-graph.js';
import type { TimeBudget } from './time-budget.js';

/** Range of the time for which waits are observed: several times that of a response, so that most are seen to end. */
const [MIN_MS, MAX_MS] = [2500, 5000];
const RESPONSES = 5;
/** Maximum number of pairs of blocks that measure the cost. */
const MAX_PAIRS = 3;

/** How waits are observed. */
export interface WaitsOptions {
  /** From which on, and for how long. */
  during: BlockLength;
  /** Number of frames of each stack. */
  depth: number;
  /** Blocks that measure the cost. */
  length: BlockLength;
  budget: TimeBudget;
  reserveMs: number;
}

/**
 * Computes the block in which waits are observed. It settles as others do: until then the server still has requests of the
 * block before, whose clients have gone, in its queues.
 */
export function computeObservedBlock(responseMs: number, { settleMs }: BlockLength): BlockLength {
  return { settleMs, measureMs: Math.min(MAX_MS, Math.max(MIN_MS, RESPONSES * responseMs)) };
}

/** Observes under the unchanged load what requests wait for, and as time permits what that costs. */
export async function observeWaits(
  subject: ServerUnderTest,
  { during, depth, length, budget, reserveMs }: WaitsOptions,
): Promise<ObservedWaits> {
  const answers: WaitSamples[] = [];
  const ask = async ({ settleMs, measureMs: ms }: BlockLength) => {
    await sleep(settleMs);
    // A process that ends meanwhile has no answer.
    return (await subject.hub?.command('waits', { ms, depth }).catch(() => [])) ?? [];
  };
  const observe = async (block: BlockLength) => {
    const [observation, answer] = await Promise.all([subject.runBlock(block), ask(block)]);
    answers.push(...answer);
    return observation;
  };
  await observe(during);
  const [observed, without]: [Observation[], Observation[]] = [[], []];
  while (observed.length < MAX_PAIRS && budget.fits(2 * budget.blockMs, reserveMs)) {
    observed.push(await observe(length));
    without.push(await subject.runBlock(length));
  }
  return { paths: toWaitPaths(answers), cost: measureRatio(without, observed) };
}
