import { plural } from '../format/units.js';
import { DEFAULTS } from '../load/defaults.js';
import type { LoadResult } from '../load/result.js';
import { mean } from '../statistics/moments.js';
import type { Budget } from './budget.js';
import {
  errorShareOf,
  levelsOf,
  type Measured,
  throughputOf,
  tooManyErrors,
  usable,
} from './levels.js';
import { modelOf } from './model/model.js';
import type { CapacityCurve, Sweep, SweepEnd } from './result.js';
import type { Target } from './target.js';

/** Blocks of one level. */
const rounds = 3;

/** Levels beyond the knee: so many show that throughput stays, or falls. */
const levelsPastKnee = 3;

/** A level is past the knee if it has this many times the connections that Little's law gives for it. */
const clearlyPast = 1.4;

/** The blocks that a budget is cut into: eleven levels of three. */
const blocksPerBudget = 33;

const shortestBlockMs = 200;
const longestBlockMs = 5000;

/** A block lasts at least this many response times, so that its ends do not count, and has this many responses. */
const responseTimesPerBlock = 10;
const responsesPerBlock = 30;

/** Share of a block before it is measured. */
const settling = 0.25;

/** Points of the curve; a bend between two of them is then cut by less than a line is thick. */
const placesPerDoubling = 8;

/**
 * Throughput over connections: 1, 2, 4, ... up to `most`, once, until three levels lie past the knee; then all of them
 * again in random order, so that what drifts falls on all alike, as long as the budget lasts.
 *
 * @param random in [0, 1); decides on the order
 */
export async function sweepConnections(
  target: Target,
  budget: Budget,
  most: number,
  random: () => number = Math.random,
): Promise<{ sweep: Sweep; first: LoadResult }> {
  const run = new SweepRun(target, budget, random);
  const first = await run.warmUp(Math.min(DEFAULTS.connections, most));
  const ended = await run.climb(most);
  await run.repeat();
  return { sweep: run.result(ended), first };
}

class SweepRun {
  readonly #target: Target;
  readonly #budget: Budget;
  readonly #random: () => number;
  readonly #blockMs: number;
  readonly #measured: Measured = new Map();

  constructor(target: Target, budget: Budget, random: () => number) {
    this.#target = target;
    this.#budget = budget;
    this.#random = random;
    this.#blockMs = Math.max(shortestBlockMs, budget.leftMs / blocksPerBudget);
  }

  async warmUp(connections: number): Promise<LoadResult> {
    this.#budget.step('warming up');
    return this.#target.warmUp(connections, 2 * this.#blockMs);
  }

  /** Level after level, until there is a reason to stop. */
  async climb(most: number): Promise<SweepEnd> {
    for (const connections of levelsUpTo(most)) {
      // One block may have met a busy machine: only a second one makes sure that the generator can no more.
      const result = await this.#block(connections);
      const again = result?.generator.clientBound ? await this.#block(connections) : result;
      if (result === null || again === null) return 'budget';
      if (errorShareOf(again) > tooManyErrors) return 'errors';
      if (again.generator.clientBound) return 'client-bound';
      if (pastKnee(this.#measured) >= levelsPastKnee) return 'past-knee';
    }
    return 'connections';
  }

  /** All usable levels again, until each has its blocks or the time is over. */
  async repeat(): Promise<void> {
    const levels = usable(levelsOf(this.#measured)).map(({ connections }) => connections);
    for (let round = 1; round < rounds; round += 1) {
      for (const connections of shuffled(levels, this.#random)) {
        if ((await this.#block(connections)) === null) return;
      }
    }
  }

  result(ended: SweepEnd): Sweep {
    const levels = levelsOf(this.#measured);
    const [first = null, ...others] = usable(levels);
    const best = others.reduce(
      (best, level) => (best && best.throughput.mean >= level.throughput.mean ? best : level),
      first,
    );
    return { levels, best, model: curveOf(usable(levels)), ended: endOf(this.#target) ?? ended };
  }

  /** `null` if there is no time for it, or it was cut short. The first level is measured whatever it takes. */
  async #block(connections: number): Promise<LoadResult | null> {
    const times = Math.max(responseTimesPerBlock, responsesPerBlock / connections);
    const wantedMs = Math.max(this.#blockMs, times * this.#expectedMs(connections));
    const durationMs = Math.min(longestBlockMs, wantedMs);
    const warmupMs = settling * durationMs;
    const isFirst = this.#measured.size === 0;
    if (this.#target.over || (!isFirst && this.#budget.leftMs < durationMs)) return null;
    this.#budget.step(plural(connections, 'connection'));
    const block = { connections, warmupMs, durationMs: durationMs - warmupMs };
    const result = await this.#target.run(block);
    if (result === null) return null;
    this.#measured.set(connections, [...(this.#measured.get(connections) ?? []), result]);
    return result;
  }

  /** Response time to expect: of the same level, or of the one before it if all further connections only wait. */
  #expectedMs(connections: number): number {
    const [same] = this.#measured.get(connections) ?? [];
    const before = [...this.#measured.values()].at(-1)?.[0];
    return same?.latencyMs.mean ?? 2 * (before?.latencyMs.mean ?? 0);
  }
}

/** 1, 2, 4, ... and the most. */
function levelsUpTo(most: number): number[] {
  const powers = Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, i) => 2 ** i);
  return [...new Set([...powers, most])];
}

function endOf(target: Target): SweepEnd | null {
  if (target.ended !== null) return 'server-ended';
  return target.interrupted ? 'interrupted' : null;
}

/** Levels that lie past N = X_max R0, by what was measured so far. */
function pastKnee(measured: Measured): number {
  const levels = [...measured].map(([connections, results]) => ({
    connections,
    throughput: mean(results.map(throughputOf)),
  }));
  const single = levels[0]?.throughput ?? 0;
  const knee = Math.max(...levels.map(({ throughput }) => throughput)) / single;
  return levels.filter(({ connections }) => connections > clearlyPast * knee).length;
}

function curveOf(levels: Sweep['levels']): CapacityCurve | null {
  const model = modelOf(
    levels.map(({ connections, blocks }) => ({ connections, throughput: blocks })),
  );
  if (!model) return null;
  const { curve, singleMs, maxThroughput, knee, peak, scatter, reach } = model;
  const measured = levels.map((level) => level.connections);
  const points = placesOf(measured, reach).flatMap((connections) => {
    const throughput = model.predict(connections);
    return throughput ? [{ connections, throughput }] : [];
  });
  return { curve, singleMs, maxThroughput, knee, peak, scatter, points };
}

/** The levels, and so many numbers of connections between them and up to `reach` that a line through them is the curve. */
function placesOf(measured: readonly number[], reach: number): number[] {
  const least = Math.min(...measured);
  const steps = Math.ceil(placesPerDoubling * Math.log2(reach / least));
  const between = Array.from({ length: steps + 1 }, (_, step) =>
    Math.min(reach, Math.round(least * 2 ** (step / placesPerDoubling))),
  );
  return [...new Set([...measured, ...between])].sort((a, b) => a - b);
}

/** Fisher and Yates. */
function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(Math.floor(random() * left.length), 1));
}
