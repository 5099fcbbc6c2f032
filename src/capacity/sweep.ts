import { plural } from '../format/units.js';
import { readArrivalTimes } from '../load/arrivals.js';
import { DEFAULTS } from '../load/defaults.js';
import type { LoadResult } from '../load/result.js';
import { mean } from '../statistics/moments.js';
import type { Budget } from './budget.js';
import {
  type BlocksByLevel,
  computeErrorShare,
  computeThroughput,
  MAX_ERROR_SHARE,
  selectUsable,
  summarizeLevels,
} from './levels.js';
import { fitModel } from './model/model.js';
import type { CapacityCurve, CapacitySweep, CapacitySweepEnd } from './result.js';
import type { CapacityTarget } from './target.js';

/** Number of blocks of each level. */
const ROUNDS = 3;

/** Number of levels beyond the knee that show whether throughput stays or falls. */
const LEVELS_PAST_KNEE = 3;

/** Connections of a level past the knee, as a multiple of the knee by Little's law. */
const PAST_KNEE_RATIO = 1.4;

/** Number of blocks that a budget is divided into: eleven levels with three blocks each. */
const BLOCKS_PER_BUDGET = 33;

const MIN_BLOCK_MS = 200;
const MAX_BLOCK_MS = 5000;

/** Minimum length of a block in response times, so that its ends do not matter, and in responses. */
const RESPONSE_TIMES_PER_BLOCK = 10;
const RESPONSES_PER_BLOCK = 30;

/** Warm-up of a block, as a share of its length. */
const SETTLING_SHARE = 0.25;

/** Points of the curve per doubling of connections; straight lines between them deviate by less than a line's width. */
const POINTS_PER_DOUBLING = 8;

/**
 * Measures throughput over connections: levels of 1, 2, 4, ... up to `maxConnections` once, until three levels lie past the
 * knee; then all of them again, while the budget lasts, in random order so that drift affects every level equally.
 *
 * @param random numbers in [0, 1) that determine the order
 */
export async function sweepConnections(
  target: CapacityTarget,
  budget: Budget,
  maxConnections: number,
  random: () => number = Math.random,
): Promise<{ sweep: CapacitySweep; first: LoadResult }> {
  const run = new SweepRun(target, budget, random);
  const first = await run.warmUp(Math.min(DEFAULTS.connections, maxConnections));
  const ended = await run.climb(maxConnections);
  await run.repeat();
  return { sweep: run.result(ended), first };
}

class SweepRun {
  readonly #target: CapacityTarget;
  readonly #budget: Budget;
  readonly #random: () => number;
  readonly #blockMs: number;
  readonly #measured: BlocksByLevel = new Map();
  /** Connections of the last block. */
  #connectionsBefore = 0;

  constructor(target: CapacityTarget, budget: Budget, random: () => number) {
    this.#target = target;
    this.#budget = budget;
    this.#random = random;
    this.#blockMs = Math.max(MIN_BLOCK_MS, budget.leftMs / BLOCKS_PER_BUDGET);
  }

  async warmUp(connections: number): Promise<LoadResult> {
    this.#budget.step('warming up');
    this.#connectionsBefore = connections;
    return this.#target.warmUp(connections, 2 * this.#blockMs);
  }

  /** Runs level after level until there is a reason to stop. */
  async climb(maxConnections: number): Promise<CapacitySweepEnd> {
    for (const connections of listLevels(maxConnections)) {
      // One block may have met a busy machine: only a second one makes sure that the generator can no more.
      const result = await this.#runBlock(connections);
      const again = result?.generator.clientBound ? await this.#runBlock(connections) : result;
      if (result === null || again === null) return 'budget';
      if (computeErrorShare([again]) > MAX_ERROR_SHARE) return 'errors';
      if (again.generator.clientBound) return 'client-bound';
      if (countPastKnee(this.#measured) >= LEVELS_PAST_KNEE) return 'past-knee';
    }
    return 'connections';
  }

  /** Repeats all usable levels until each has its blocks or the time is over. */
  async repeat(): Promise<void> {
    const levels = selectUsable(summarizeLevels(this.#measured)).map(
      ({ connections }) => connections,
    );
    for (let round = 1; round < ROUNDS; round += 1) {
      for (const connections of shuffle(levels, this.#random)) {
        if ((await this.#runBlock(connections)) === null) return;
      }
    }
  }

  result(ended: CapacitySweepEnd): CapacitySweep {
    const levels = summarizeLevels(this.#measured);
    const [first = null, ...others] = selectUsable(levels);
    const best = others.reduce(
      (best, level) => (best && best.throughput.mean >= level.throughput.mean ? best : level),
      first,
    );
    return {
      levels,
      best,
      model: buildCurve(selectUsable(levels)),
      ended: findEarlyEnd(this.#target) ?? ended,
    };
  }

  /** Runs a block; `null` if there is no time for it or it was cut short. The first level is measured in any case. */
  async #runBlock(connections: number): Promise<LoadResult | null> {
    const times = Math.max(RESPONSE_TIMES_PER_BLOCK, RESPONSES_PER_BLOCK / connections);
    const wantedMs = Math.max(this.#blockMs, times * this.#expectResponseMs(connections));
    const durationMs = Math.min(MAX_BLOCK_MS, wantedMs);
    const warmupMs = SETTLING_SHARE * durationMs;
    const isFirst = this.#measured.size === 0;
    if (this.#target.isOver || (!isFirst && this.#budget.leftMs < durationMs)) return null;
    this.#budget.step(plural(connections, 'connection'));
    // What more connections left behind in the server would be waited for by fewer.
    if (connections < this.#connectionsBefore) await this.#target.drain();
    this.#connectionsBefore = connections;
    const block = { connections, warmupMs, durationMs: durationMs - warmupMs };
    const result = await this.#target.run(block);
    if (result === null) return null;
    this.#measured.set(connections, [...(this.#measured.get(connections) ?? []), result]);
    return result;
  }

  /** Predicts the response time from the same level, or as twice that of the level before it: more connections only wait. */
  #expectResponseMs(connections: number): number {
    const [same] = this.#measured.get(connections) ?? [];
    const before = [...this.#measured.values()].at(-1)?.[0];
    const meanOf = (result: LoadResult | undefined) => result && readArrivalTimes(result).ms.mean;
    return meanOf(same) ?? 2 * (meanOf(before) ?? 0);
  }
}

/** Lists the levels: 1, 2, 4, ... and the maximum. */
function listLevels(maxConnections: number): number[] {
  const powers = Array.from(
    { length: Math.floor(Math.log2(maxConnections)) + 1 },
    (_, i) => 2 ** i,
  );
  return [...new Set([...powers, maxConnections])];
}

function findEarlyEnd(target: CapacityTarget): CapacitySweepEnd | null {
  if (target.ended !== null) return 'server-ended';
  return target.isInterrupted ? 'interrupted' : null;
}

/** Counts the levels that lie past N = X_max R0 by the measurements so far. */
function countPastKnee(measured: BlocksByLevel): number {
  const levels = [...measured].map(([connections, results]) => ({
    connections,
    throughput: mean(results.map(computeThroughput)),
  }));
  const single = levels[0]?.throughput ?? 0;
  const knee = Math.max(...levels.map(({ throughput }) => throughput)) / single;
  return levels.filter(({ connections }) => connections > PAST_KNEE_RATIO * knee).length;
}

function buildCurve(levels: CapacitySweep['levels']): CapacityCurve | null {
  const model = fitModel(
    levels.map(({ connections, blocks }) => ({ connections, throughput: blocks })),
  );
  if (!model) return null;
  const { curve, singleMs, maxThroughput, knee, peak, scatter, reach } = model;
  const measured = levels.map((level) => level.connections);
  const points = chooseCurvePoints(measured, reach).flatMap((connections) => {
    const throughput = model.predict(connections);
    return throughput ? [{ connections, throughput }] : [];
  });
  return { curve, singleMs, maxThroughput, knee, peak, scatter, points };
}

/** Chooses the points of the curve: the levels, and values between them and up to `reach`. */
function chooseCurvePoints(measured: readonly number[], reach: number): number[] {
  const lowest = Math.min(...measured);
  const steps = Math.ceil(POINTS_PER_DOUBLING * Math.log2(reach / lowest));
  const between = Array.from({ length: steps + 1 }, (_, step) =>
    Math.min(reach, Math.round(lowest * 2 ** (step / POINTS_PER_DOUBLING))),
  );
  return [...new Set([...measured, ...between])].sort((a, b) => a - b);
}

/** Shuffles values by the Fisher-Yates algorithm. */
function shuffle<T>(values: readonly T[], random: () => number): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(Math.floor(random() * left.length), 1));
}
