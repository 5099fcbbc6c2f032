import { rate, time } from '../../../format/units.js';
import { median } from '../../../statistics/median.js';
import type { MeasuredRatio, Range } from '../../../statistics/types.js';
import { type Detector, scale } from '../hypothesis.js';
import { predictBusyLoop } from './loop.js';
import { SATURATED } from './loop-capacity.js';

/** CPU time per response of the blocks at the same load, in the order of time. */
export interface CostOverTime {
  /** Requests that the server had answered by then, since it was started. */
  requests: number;
  cpuMs: number;
}

/** The throughput with a second process beside the first, as a ratio to that without, and the least that it may be. */
export type SecondProcess = Pick<MeasuredRatio, 'ratio' | 'low'>;

/** Least growth of the cost per request from the first to the last block. */
const MIN_COST_GROWTH = 1.3;
/** Least concordance of cost and age, in its own standard deviations if there were none. */
const MIN_CONCORDANCE = 2.5;
/** Two processes give twice as much at most: from here on the second one owes it to its age. */
const MAX_PARALLEL_GAIN = 2.1;
/** Least growth where a second process has told so: one that has aged for long no longer changes much from block to block. */
const MIN_RESIDUAL_GROWTH = 1.1;
/** A request of a server with nothing grown costs this part of a fresh one's at the least, whatever the line through two ages says. */
const MIN_INITIAL_COST_SHARE = 0.25;
/** What a fresh start makes of the cost of a request at the most, if age is what it is about. */
const MAX_RESTART_RATIO = 0.85;

/**
 * Whether requests become dearer as the server ages: their cost grows with the number of those before.
 *
 * @param blocks at one load; those of the warm-up left out
 * @param secondProcess what a second process beside the first gave; `null`: not tried
 * @param afterRestart a server that was started anew; `null`: not tried
 */
export function detectDegradesOverTime(
  blocks: CostOverTime[],
  secondProcess: SecondProcess | null,
  afterRestart: CostOverTime | null,
): Detector {
  return (metrics) => {
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
    const isSteady =
      computeKendallTau(costs) >= MIN_CONCORDANCE * computeTauDeviation(costs.length);
    // Shares of two such processes swing widely. A suspicion needs no certainty: a fresh start has to bear it out.
    const secondProcessGain =
      secondProcess !== null && secondProcess.ratio > MAX_PARALLEL_GAIN
        ? Math.max(1, secondProcess.low)
        : null;
    // Thirds of costs that swing may be alike by chance; a fresh start is still to come.
    const stillGrows =
      Math.max(ratio, last.cpuMs / Math.max(1e-6, first.cpuMs)) >= MIN_RESIDUAL_GROWTH;
    if (secondProcessGain === null ? ratio < MIN_COST_GROWTH || !isSteady : !stillGrows) {
      return {
        limit,
        why: `a request costs ${time(last.cpuMs)} of CPU in the last block, ${time(first.cpuMs)} in the first`,
      };
    }
    const slope = (late - early) / Math.max(1, last.requests - first.requests);
    const start = Math.max(early / 4, early - slope * first.requests);
    // The second process had the same cores, and answered that many times as much as the first.
    const recoveryFactor = Math.max(last.cpuMs / start, (secondProcessGain ?? 1) - 1);
    const predicted = predictBusyLoop(metrics);
    const least = Math.min(1.05, predicted['second process']?.low ?? 1.05);
    return {
      limit,
      ...(busy && { causeOf: 'event-loop-cpu' as const }),
      // A machine drifts too, by less.
      weight: computeWeight(ratio, secondProcessGain, afterRestart !== null),
      sentence: `requests become dearer: from ${time(first.cpuMs)} to ${time(last.cpuMs)} of CPU each within ${rate(last.requests - first.requests)} requests; something grows with each and is gone through by each.`,
      arithmetic: [
        `${time(slope * 1000)} more per 1,000 requests, over ${blocks.length} blocks of the same load`,
      ],
      evidence: [
        { what: 'CPU per response, first block', value: first.cpuMs, unit: 'ms', source: 'proc' },
        { what: 'CPU per response, last block', value: last.cpuMs, unit: 'ms', source: 'proc' },
      ],
      unlisted: 'unknown',
      predictions: {
        // A second process is a fresh one, too: how old the first one is, is not known.
        ...(busy && { ...predicted, 'second process': { low: least, high: 1000 } }),
        'fresh start': {
          low: 0.2 / recoveryFactor,
          // What only the second process has told has to show here.
          high:
            secondProcessGain === null
              ? 1.6 / recoveryFactor
              : Math.min(MAX_RESTART_RATIO, 1.6 / recoveryFactor),
        },
      },
      remedy: {
        change:
          'find what grows: a list, listeners, routes added per request; until then a restart helps for a while',
        predictedThroughput: afterRestart
          ? scale(predictWithoutGrowth(first, last, afterRestart), throughput)
          : { low: throughput * ratio * 0.9, high: throughput * recoveryFactor * 1.3 },
        nextLimit: 'event-loop-cpu',
      },
    };
  };
}

/** What only a second process tells, and not surely, has to be borne out by a fresh start before it is a cause. */
function computeWeight(
  ratio: number,
  secondProcessGain: number | null,
  isRestartTried: boolean,
): number {
  if (secondProcessGain === null) return Math.min(0.98, 0.3 + (ratio - 1) / 2);
  return secondProcessGain > MAX_PARALLEL_GAIN || isRestartTried ? 0.98 : 0.75;
}

/** The gain without what grows: what a fresh start gave, up to what a request would cost before anything has grown. */
function predictWithoutGrowth(
  first: CostOverTime,
  last: CostOverTime,
  afterRestart: CostOverTime,
): Range {
  const slope =
    (last.cpuMs - afterRestart.cpuMs) / Math.max(1, last.requests - afterRestart.requests);
  const start = Math.max(
    MIN_INITIAL_COST_SHARE * afterRestart.cpuMs,
    afterRestart.cpuMs - slope * afterRestart.requests,
  );
  return {
    low: first.cpuMs / afterRestart.cpuMs,
    high: first.cpuMs / Math.min(afterRestart.cpuMs, start),
  };
}

/** Standard deviation of Kendall's tau over `n` values in random order (Kendall 1938). */
function computeTauDeviation(n: number): number {
  return Math.sqrt((2 * (2 * n + 5)) / (9 * n * (n - 1)));
}

/** Kendall's tau of a series: the pairs that grow less those that fall, as a share of all. */
function computeKendallTau(values: number[]): number {
  const signs = values.flatMap((value, index) =>
    values.slice(index + 1).map((later) => Math.sign(later - value)),
  );
  return signs.length === 0 ? 0 : signs.reduce((sum, sign) => sum + sign, 0) / signs.length;
}
