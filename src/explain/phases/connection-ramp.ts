import { count, share } from '../../format/units.js';
import { computeDepth } from '../../load/streams.js';
import {
  addKnee,
  chooseNextConnections,
  estimateKnee,
  evaluateRampStep,
} from '../experiments/connection-ramp.js';
import { computeErrorShare } from '../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { ServerUnderTest } from '../target/server-under-test.js';
import { MAX_RAMP_STEPS, type TimeBudget } from './time-budget.js';

export interface RampOptions {
  budget: TimeBudget;
  length: BlockLength;
  /** Receives each step as it begins. */
  onStep(what: string): void;
  /** Receives each usable block, and the ramp including it. */
  onBlock(ramp: ConnectionRamp, block: Observation): void;
  /** Receives the reason why a block cannot be used. */
  onSkipped(reason: string): void;
}

/** Adds connections step by step until requests queue, then measures the recommended number of connections as well. */
export async function rampConnections(
  subject: ServerUnderTest,
  metrics: Metrics,
  options: RampOptions,
): Promise<void> {
  let ramp: ConnectionRamp | null = null;
  for (let step = 0; step < MAX_RAMP_STEPS; step += 1) {
    const inFlight = chooseNextConnections(metrics, ramp);
    if (inFlight === null) break;
    const next = await measureStep(subject, metrics, inFlight, ramp, options);
    if (!next) return;
    options.onBlock(next.ramp, next.block);
    ramp = next.ramp;
  }
  if (!ramp?.isQueueing) return;
  const knee = estimateKnee(metrics, ramp);
  const atKnee = knee === null ? null : await measureStep(subject, metrics, knee, ramp, options);
  if (atKnee) options.onBlock(addKnee(ramp, atKnee.ramp), atKnee.block);
}

/** Measures a number of requests in flight; `null` if there is no time, or if the result cannot be used. */
async function measureStep(
  subject: ServerUnderTest,
  metrics: Metrics,
  inFlight: number,
  before: ConnectionRamp | null,
  { budget, length, onStep, onSkipped }: RampOptions,
): Promise<{ ramp: ConnectionRamp; block: Observation } | null> {
  if (!budget.fits(budget.blockMs)) return null;
  const connections = Math.max(1, Math.round(inFlight / computeDepth(metrics.base.load)));
  onStep(`experiment: ${count(connections)} connections`);
  const block = await subject.runBlock(length, { load: { connections } });
  const ramp = evaluateRampStep(metrics, block, before);
  if (ramp) return { ramp, block };
  const failed = share(computeErrorShare([block]));
  onSkipped(`${count(connections)} connections: ${failed} of the requests failed`);
  return null;
}
