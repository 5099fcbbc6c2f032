// Comparisons drawn from recorded runs: how often they find a difference of a server and itself, and how often a true one.
import { estimateFigure } from '../../dist/compare/rows/estimate.js';
import { judgeInterval } from '../../dist/compare/rows/words.js';
import { mean, standardDeviation } from '../../dist/statistics/moments.js';
import { studentQuantile } from '../../dist/statistics/student.js';
import { Noise } from '../../test/fixtures/noise.js';

/** Pairs that are drawn at once, so that comparisons contain what the machine does for longer than a pair. */
const BLOCK = 4;
const WINDOWS_PER_SECOND = 10;

const CONFIDENCE = 0.95;

/** Estimators to choose from: `(pairs) => ({ low, high })` of B to A. */
export const estimators = {
  /** What `millrace compare` does. */
  pairs: (pairs) => estimateAsCompare(pairs, (pair) => pair),
  'pairs, mean': estimateMean,
  /** What it does with stored results. */
  sides: (pairs) => estimateAsCompare(pairs, () => null),
};

function estimateAsCompare(pairs, nameOf) {
  const runs = pairs.flatMap(([a, b], index) => [
    { side: 'a', pair: nameOf(index), value: a },
    { side: 'b', pair: nameOf(index), value: b },
  ]);
  const valueOfRun = (/** @type {any} */ { value }) => value;
  return estimateFigure(runs, valueOfRun).measure(CONFIDENCE);
}

/** Student's interval of the mean of the log ratios. */
function estimateMean(pairs) {
  const logs = pairs.map(([a, b]) => Math.log(b / a));
  const center = mean(logs);
  const half =
    (studentQuantile(logs.length - 1, CONFIDENCE) * standardDeviation(logs)) /
    Math.sqrt(logs.length);
  return { low: Math.exp(center - half), high: Math.exp(center + half) };
}

/** Computes the responses per second of a run's part that begins after `warmup` seconds and is `seconds` long. */
function computeThroughput({ completed }, { warmup, seconds }) {
  const from = Math.round(warmup * WINDOWS_PER_SECOND);
  const part = completed.slice(from, from + Math.round(seconds * WINDOWS_PER_SECOND));
  return (part.reduce((sum, count) => sum + count, 0) / part.length) * WINDOWS_PER_SECOND;
}

/**
 * Pairs the neighbors among recorded runs (A B B A A B B A): `different` are those of A and B, the first and the second,
 * the third and the fourth; `same` are those between them, both of one side, which are called A and B in turn.
 */
export function pairRuns(runs, design) {
  const values = runs.map((run) => computeThroughput(run, design));
  const different = [];
  const same = [];
  for (let first = 0; first + 1 < runs.length; first++) {
    const pair = [values[first], values[first + 1]];
    const isReversed = Math.floor(first / 2) % 2 === 1;
    (first % 2 === 0 ? different : same).push(isReversed ? pair.toReversed() : pair);
  }
  return { different, same };
}

/**
 * Computes the time that a run of a design takes, in seconds: with the start and the stop of its server, as recorded.
 */
export function computeRunSeconds(runs, { warmup, seconds }) {
  const overhead = runs.reduce((sum, run) => sum + run.spentMs - run.durationMs, 0) / runs.length;
  return overhead / 1000 + warmup + seconds;
}

/**
 * Draws a comparison's pairs one after the other from recorded ones: in blocks that begin anywhere, or all from `start`
 * on, in the order in which they were recorded.
 */
function* drawPairs(pairs, noise, start = null) {
  for (let block = 0; ; block++) {
    // An even one, as the order within the pairs alternates.
    const drawn = 2 * Math.floor((noise.uniform() * pairs.length) / 2);
    const from = start === null ? drawn : start + block * BLOCK;
    for (let i = 0; i < BLOCK; i++) yield pairs[(from + i) % pairs.length];
  }
}

/** Makes one comparison: `{ word, pairs, seconds }`. It ends as soon as the interval is narrow enough, or with the budget. */
function compareOnce(drawn, { design, runSeconds, budget }) {
  const { estimator, minPairs, width, margin } = design;
  const maxPairs = Math.floor(budget / (2 * runSeconds));
  const pairs = [];
  let interval = null;
  while (pairs.length < maxPairs) {
    pairs.push(drawn.next().value);
    const isLook = pairs.length >= minPairs && pairs.length % 2 === 0;
    if (!isLook && pairs.length < maxPairs) continue;
    interval = pairs.length > 1 ? estimators[estimator](pairs) : null;
    if (isLook && interval.high / interval.low <= 1 + width) break;
  }
  const word = interval ? judgeInterval(interval, margin, 'throughput') : 'cannot-tell';
  return { word, pairs: pairs.length, seconds: pairs.length * 2 * runSeconds };
}

/**
 * Draws comparisons: `{ better, worse, same, unknown, pairs, seconds }`, the shares of the words and the means of the
 * others. With `inOrder` there is one from each recorded A B B A on, else `count` of them.
 */
export function drawComparisons(pairs, { count, inOrder = false, ...settings }) {
  const noise = new Noise(1);
  const starts = inOrder
    ? Array.from({ length: Math.floor(pairs.length / 2) }, (_, i) => 2 * i)
    : Array.from({ length: count }, () => null);
  const made = starts.map((start) => compareOnce(drawPairs(pairs, noise, start), settings));
  const share = (word) => made.filter((one) => one.word === word).length / made.length;
  const average = (key) => made.reduce((sum, one) => sum + one[key], 0) / made.length;
  return {
    better: share('better'),
    worse: share('worse'),
    same: share('no-difference'),
    unknown: share('cannot-tell'),
    pairs: average('pairs'),
    seconds: average('seconds'),
  };
}

/** Computes the standard deviation of the log ratios of pairs. */
export function computeScatter(pairs) {
  return standardDeviation(pairs.map(([a, b]) => Math.log(b / a)));
}
