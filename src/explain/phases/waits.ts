import type { WaitSamples } from '../../probe/protocol.cjs';
import { measureRatio } from '../experiments/interleaved-rounds.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { toWaitPaths } from '../waits/wait-paths.js';
import type { ObservedWaits } from '../waits/waits-graph.js';
import type { TimeBudget } from './time-budget.js';

/** Range of the time for which waits are observed: several times that of a response, so that most are seen to end. */
const [MIN_MS, MAX_MS] = [2000, 5000];
const RESPONSES = 5;
/** Maximum number of pairs of blocks that measure the cost. */
const MAX_PAIRS = 3;
/** Until when the observation outlives its block, whose connections are opened first. */
const SPARE_MS = 200;

/** How waits are observed. */
export interface WaitsOptions {
  observeMs: number;
  /** Number of frames of each stack. */
  depth: number;
  /** Blocks that measure the cost. */
  length: BlockLength;
  budget: TimeBudget;
  reserveMs: number;
}

/** Computes the time for which waits are observed. */
export function computeObservationMs(responseMs: number): number {
  return Math.min(MAX_MS, Math.max(MIN_MS, RESPONSES * responseMs));
}

/** Observes under the unchanged load what requests wait for, and as time permits what that costs. */
export async function observeWaits(
  subject: ServerUnderTest,
  { observeMs, depth, length, budget, reserveMs }: WaitsOptions,
): Promise<ObservedWaits> {
  const answers: WaitSamples[] = [];
  const observe = async (during: BlockLength) => {
    const ms = during.settleMs + during.measureMs + SPARE_MS;
    // A process that ends meanwhile has no answer.
    const asked = subject.hub?.command('waits', { ms, depth }).catch(() => []);
    const block = await subject.runBlock(during);
    answers.push(...((await asked) ?? []));
    return block;
  };
  await observe({ settleMs: 0, measureMs: observeMs });
  const [observed, without]: [Observation[], Observation[]] = [[], []];
  const pairMs = 2 * budget.blockMs + SPARE_MS;
  while (observed.length < MAX_PAIRS && budget.fits(pairMs, reserveMs)) {
    observed.push(await observe(length));
    without.push(await subject.runBlock(length));
  }
  return { paths: toWaitPaths(answers), cost: measureRatio(without, observed) };
}
