import { rate, time } from '../../../format/units.js';
import { median } from '../../../statistics/median.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { CostOverTime, History } from '../../hypotheses/history.js';
import { type Detected, scale } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const DEGRADES_OVER_TIME = {
  id: 'degrades-over-time',
  group: 'CPU',
  text: {
    title: 'The cost of a request grows',
    what: 'Each request adds to something (a list, listeners, routes) that later requests go through.',
    shows: 'CPU time per response grows linearly with the number of requests answered before.',
    experiment: "'restart' restarts the server: CPU time per response falls back.",
    formula: 'slope = growth of CPU time per response / requests answered',
    remedy: 'Find what grows. Until then a restart helps for a while.',
    detected: 'by experiment',
    note: 'The experiment needs a server that millrace started.',
  },
  needsOwnLoad: 'the cost of a request varies with the kinds of requests that clients send',
  detectors: [detectDegradesOverTime],
  savesLoopTime: true,
  mattersAtSustainedRate: true,
  causingFunction: 'most expensive under load',
  causedByObjects: 'kept',
} satisfies Limit;

/** What to do where it is not known what grows. */
export const FIND_ADDED = 'find what each request adds to: a list, listeners, routes';

/** Minimum ratio of the cost per request in the last blocks to that in the first. */
const MIN_COST_GROWTH = 1.3; // Source: judgment: a machine drifts by less

/** Minimum Kendall's tau of cost and time, in its standard deviations for random order. */
const MIN_CONCORDANCE = 2.5; // Source: judgment: about the 1 % level of Kendall's tau

/** Maximum gain of a second process: beyond it the second one is faster because it is younger. */
const MAX_PARALLEL_GAIN = 2.1; // Source: judgment: two processes, and noise

/** Minimum growth where a second process gained more than that: an old server changes little from block to block. */
const MIN_RESIDUAL_GROWTH = 1.1;

/**
 * Minimum cost of a request at age 0, as a share of that after the restart: a bound for the extrapolation, which may
 * pass zero. What a server that does nothing can serve bounds the prediction too.
 */
const MIN_INITIAL_COST_SHARE = 0.02;

/** Maximum cost ratio after a restart if age is the cause. */
const MAX_RESTART_RATIO = 0.85;

/** Detects a cost per request that grows with the number of requests before. */
function detectDegradesOverTime(
  metrics: Metrics,
  { costOverTime: blocks, secondProcess, afterRestart }: History,
): Detected {
  const { throughput, loop } = metrics;
  const busy = loop !== null && loop.busy >= SATURATED;
  const limit = 'degrades-over-time';
  const [first] = blocks;
  const last = blocks.at(-1);
  if (!first || !last || blocks.length < 5) return null;
  const third = Math.max(1, Math.floor(blocks.length / 3));
  const costs = blocks.map(({ cpuMs }) => cpuMs);
  const [early, late] = [median(costs.slice(0, third)), median(costs.slice(-third))];
  const ratio = late / Math.max(1e-6, early);
  const isSteady = computeKendallTau(costs) >= MIN_CONCORDANCE * computeTauDeviation(costs.length);
  // The gain of two such processes varies widely. A hypothesis needs no certainty: a restart has to confirm it.
  const secondProcessGain =
    secondProcess !== null && secondProcess.ratio > MAX_PARALLEL_GAIN
      ? Math.max(1, secondProcess.low)
      : null;
  // The thirds of costs that vary may agree by chance; the restart is still to come.
  const stillGrows =
    Math.max(ratio, last.cpuMs / Math.max(1e-6, first.cpuMs)) >= MIN_RESIDUAL_GROWTH;
  if (secondProcessGain === null ? ratio < MIN_COST_GROWTH || !isSteady : !stillGrows) {
    return {
      limit,
      why: `a request takes ${time(last.cpuMs)} of CPU in the last block, ${time(first.cpuMs)} in the first`,
    };
  }
  const slope = (late - early) / Math.max(1, last.requests - first.requests);
  const start = Math.max(early / 4, early - slope * first.requests);
  // The second process had the same cores and answered that many times as many requests as the first.
  const recoveryFactor = Math.max(last.cpuMs / start, (secondProcessGain ?? 1) - 1);
  const predicted = predictBusyLoop(metrics);
  const minGain = Math.min(1.05, predicted['second-process']?.low ?? 1.05);
  return {
    limit,
    ...(busy && { causeOf: 'event-loop-cpu' as const }),
    // The machine drifts too, but less.
    weight: computeWeight(ratio, secondProcessGain, afterRestart && afterRestart.cpuMs / early),
    sentence: `the cost of a request grows: from ${time(first.cpuMs)} to ${time(last.cpuMs)} of CPU within ${rate(last.requests - first.requests)} requests. Each request adds to something that later requests go through.`,
    arithmetic: [
      `${time(slope * 1000)} more per 1,000 requests, over ${blocks.length} blocks of the same load`,
    ],
    evidence: [
      { what: 'CPU per response, first block', value: first.cpuMs, unit: 'ms', source: 'proc' },
      { what: 'CPU per response, last block', value: last.cpuMs, unit: 'ms', source: 'proc' },
    ],
    predictions: {
      // A second process is a new one too; how far the first has aged is unknown.
      ...(busy && { ...predicted, 'second-process': { low: minGain, high: 1000 } }),
      restart: {
        low: 0.2 / recoveryFactor,
        // If only the second process is evidence, the restart has to show an effect.
        high:
          secondProcessGain === null
            ? 1.6 / recoveryFactor
            : Math.min(MAX_RESTART_RATIO, 1.6 / recoveryFactor),
      },
    },
    remedy: {
      change: `${FIND_ADDED}; until then a restart helps for a while`,
      predictedThroughput: afterRestart
        ? scale(predictWithoutGrowth(first, last, afterRestart), throughput)
        : { low: throughput * ratio * 0.9, high: throughput * recoveryFactor * 1.3 },
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** Minimum weight where a request costs less after a restart than in the first blocks, however little its cost grew since. */
const RESTARTED_WEIGHT = 0.75;

/**
 * Computes the weight: an uncertain gain of a second process has to be confirmed by a restart to count as a cause.
 *
 * @param restartRatio cost after a restart as a ratio to that of the first blocks, below which a machine that recovers
 *   does not fall; `null` if it was not tried
 */
function computeWeight(
  ratio: number,
  secondProcessGain: number | null,
  restartRatio: number | null,
): number {
  if (secondProcessGain === null) {
    const helped = restartRatio !== null && restartRatio <= MAX_RESTART_RATIO;
    return Math.min(0.98, Math.max(helped ? RESTARTED_WEIGHT : 0, 0.3 + (ratio - 1) / 2));
  }
  return secondProcessGain > MAX_PARALLEL_GAIN || restartRatio !== null ? 0.98 : 0.75;
}

/**
 * Maximum gain beyond the extrapolated cost: code is still being compiled after a restart, and without the growth the
 * caches hold what the loop goes through.
 */
const MAX_FURTHER_GAIN = 4;

/**
 * Predicts the gain without the growth: at least that of the restart, at most that of the extrapolated cost at age 0.
 */
function predictWithoutGrowth(
  first: CostOverTime,
  last: CostOverTime,
  afterRestart: CostOverTime,
): Interval {
  const slope =
    (last.cpuMs - afterRestart.cpuMs) / Math.max(1, last.requests - afterRestart.requests);
  const start = Math.max(
    MIN_INITIAL_COST_SHARE * afterRestart.cpuMs,
    afterRestart.cpuMs - slope * afterRestart.requests,
  );
  return {
    low: first.cpuMs / afterRestart.cpuMs,
    high: (MAX_FURTHER_GAIN * first.cpuMs) / Math.min(afterRestart.cpuMs, start),
  };
}

/** Computes the standard deviation of Kendall's tau for `n` values in random order (Kendall 1938). */
function computeTauDeviation(n: number): number {
  return Math.sqrt((2 * (2 * n + 5)) / (9 * n * (n - 1)));
}

/** Computes Kendall's tau of a series: rising pairs minus falling pairs, as a share of all pairs. */
function computeKendallTau(values: number[]): number {
  const signs = values.flatMap((value, index) =>
    values.slice(index + 1).map((later) => Math.sign(later - value)),
  );
  return signs.length === 0 ? 0 : signs.reduce((sum, sign) => sum + sign, 0) / signs.length;
}
