// How often a comparison finds a difference of a server and itself, and how often a true one of 5 %. Runs are recorded
// once, then comparisons of several designs are drawn from them.
//
//   npm run bench -- compare [--runs N] [--seconds N]: about 20 minutes
//   npm run bench -- compare --from FILE: draws again from the raw data of an earlier recording
//   npm run bench -- compare --comparisons [--share SHARE]: 30 comparisons of a server with itself and 20 with the slower
//     one, as users make them: at most 75 minutes; or that share of them
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { COMPARE_DEFAULTS } from '../../dist/compare/defaults.js';
import { MIN_PAIRS } from '../../dist/compare/stopping.js';
import { Results } from '../documents/results.js';
import { formatShare, formatTable } from '../documents/table.js';
import { describeMachine } from '../harness/machine.js';
import { formatDisturbance } from '../harness/quiet.js';
import { exitWithUsageError } from '../harness/usage.js';
import { makeComparisons, summarizeComparisons } from './comparisons.js';
import {
  computeRunSeconds,
  computeScatter,
  drawComparisons,
  estimators,
  pairRuns,
} from './designs.js';
import { calibrate, record } from './record.js';
import { describeRecording } from './recording-summary.js';

/** What `millrace compare` does without flags. */
const DEFAULT = {
  estimator: 'pairs',
  warmup: COMPARE_DEFAULTS.warmupMs / 1000,
  seconds: COMPARE_DEFAULTS.durationMs / 1000,
  minPairs: MIN_PAIRS,
  width: Number.parseFloat(COMPARE_DEFAULTS.width) / 100,
  margin: Number.parseFloat(COMPARE_DEFAULTS.margin) / 100,
};
/** What differs from that, in the table of designs. */
const DESIGNS = [
  {},
  { estimator: 'pairs, mean' },
  { estimator: 'sides' },
  { minPairs: 4 },
  { minPairs: 10 },
  { width: 0.02 },
  { width: 0.05 },
  ...[0, 0.5, 1, 2].flatMap((warmup) => [1, 2, 3, 4].map((seconds) => ({ warmup, seconds }))),
  ...Object.keys(estimators).map((estimator) => ({ estimator, warmup: 1, seconds: 2 })),
];
/** How much longer a request of the slower server takes. */
const SLOWDOWN = 0.05;
/** The bars: budget of a comparison in seconds, the share that is asked for, and the comparisons that are made. */
const BARS = {
  same: { name: 'with itself', budget: 60, limit: 0.05, count: 30 },
  slower: { name: 'with the slower one', budget: 120, limit: 0.9, count: 20 },
};
/** Comparisons that are drawn for each design, and for the default. */
const DRAWN = 1000;
const DRAWN_OF_DEFAULT = 10_000;

export async function main(args) {
  const options = readOptions(args);
  const about = {
    suite: 'compare',
    machine: describeMachine(),
    versions: {},
    runs: options.comparisons ? 'comparisons' : `${options.runs} runs of ${options.seconds} s`,
    reading: 'What is compared is in BENCHMARKING.md, "Compare".',
  };
  const isWhole = !options.from && options.share === 1;
  const sections = isWhole ? ['made', 'drawn', 'designs'] : null;
  const results = new Results('compare', about, sections);
  const publish = (name, raw, lines) => {
    const shown = [`## ${name}`, '', ...lines, ''];
    console.log(shown.join('\n'));
    results.add({ name }, raw, shown);
    results.publish({ name, lines });
  };
  await (options.comparisons ? measureMade(options, publish) : measureDrawn(options, publish));
  console.log(`written: ${results.paths}`);
}

const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);

function readOptions(args) {
  const known = {
    runs: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '5' },
    from: { type: 'string' },
    comparisons: { type: 'boolean', default: false },
    share: { type: 'string', default: '1' },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: known }));
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const [runs, seconds, share] = ['runs', 'seconds', 'share'].map((key) => Number(values[key]));
  const shortest = Math.ceil(DEFAULT.warmup + DEFAULT.seconds);
  if (!Number.isInteger(runs) || runs < 16 || runs % 4 !== 0)
    exitWithUsageError(`--runs ${values.runs}: a multiple of 4 from 16`);
  if (!Number.isInteger(seconds) || seconds < shortest)
    exitWithUsageError(`--seconds ${values.seconds}: a whole number from ${shortest}`);
  if (!(share > 0 && share <= 1))
    exitWithUsageError(`--share ${values.share}: a number above 0, at most 1`);
  return { ...values, runs, seconds, share };
}

/** Records runs, or reads recorded ones, and draws comparisons from them. */
async function measureDrawn({ from, runs: count, seconds }, publish) {
  const recording = from ? readRecording(from) : await makeRecording(count, seconds);
  publish('drawn', recording, summarizeDefault(recording));
  publish('designs', {}, summarizeDesigns(recording));
}

async function makeRecording(count, seconds) {
  const units = await calibrate(SLOWDOWN, progress);
  const runs = await record({ units, count, seconds, progress });
  progress('');
  return { units, runs };
}

function readRecording(file) {
  const { units, runs } = JSON.parse(readFileSync(file, 'utf8')).cases.drawn;
  return { units, runs };
}

/** Makes the comparisons that the bars ask for. */
async function measureMade({ share }, publish) {
  const units = await calibrate(SLOWDOWN, progress);
  const make = (bar, own) =>
    makeComparisons({ ...bar, count: Math.ceil(bar.count * share), units: own, progress });
  const same = await make(BARS.same, { a: units.a, b: units.a });
  const slower = await make(BARS.slower, units);
  progress('');
  const summaries = { same: summarizeComparisons(same), slower: summarizeComparisons(slower) };
  const rows = Object.entries(BARS).map(([key, { name, budget }]) => {
    const made = key === 'same' ? same : slower;
    return formatWords(`${made.length} ${name}, ${budget} s`, summaries[key]);
  });
  publish('made', { units, same, slower }, [
    ...formatTable(WORDS_HEAD, rows),
    '',
    ...judgeBars(summaries),
    `- ${formatDesign(DEFAULT)}`,
  ]);
}

const WORDS_HEAD = ['comparison', 'better', 'worse', 'no difference', 'cannot tell', 'pairs', 's'];

function formatWords(name, { better, worse, same, unknown, pairs, seconds }) {
  return [
    name,
    ...[better, worse, same, unknown].map(formatPercent),
    pairs.toFixed(1),
    seconds.toFixed(0),
  ];
}

const formatPercent = (share) => `${(share * 100).toFixed(1)} %`;

function judgeBars({ same, slower }) {
  const bars = [
    [
      `a server and itself are told apart in at most ${formatShare(BARS.same.limit)}`,
      same.better + same.worse <= BARS.same.limit,
    ],
    [
      `the slower one is found in at least ${formatShare(BARS.slower.limit)}`,
      slower.worse >= BARS.slower.limit,
    ],
  ];
  return bars.map(([bar, isMet]) => `- bar: ${bar}: **${isMet ? 'met' : 'missed'}**`);
}

/** Draws comparisons of a design, of a server with itself and with the slower one. */
function evaluate(runs, design, settings) {
  const { same, different } = pairRuns(runs, design);
  const shared = { design, runSeconds: computeRunSeconds(runs, design), ...settings };
  return {
    same: drawComparisons(same, { ...shared, budget: BARS.same.budget }),
    slower: drawComparisons(different, { ...shared, budget: BARS.slower.budget }),
  };
}

/** Summarizes the default: its errors, and the bars. */
function summarizeDefault({ units, runs }) {
  const drawn = evaluate(runs, DEFAULT, { count: DRAWN_OF_DEFAULT });
  const inOrder = evaluate(runs, DEFAULT, { inOrder: true });
  const rows = Object.entries({ drawn, 'in the order recorded': inOrder }).flatMap(
    ([way, summaries]) =>
      Object.entries(BARS).map(([key, { name, budget }]) =>
        formatWords(`${name}, ${budget} s, ${way}`, summaries[key]),
      ),
  );
  return [
    ...formatTable(WORDS_HEAD, rows),
    '',
    ...describeRecording(units, runs, DEFAULT),
    ...judgeBars(drawn),
    `- ${formatDesign(DEFAULT)}`,
    formatDisturbance(runs.map((run) => ({ ...run, attempts: 1 }))),
  ];
}

function formatDesign({ estimator, warmup, seconds, minPairs, width, margin }) {
  return `${estimator}; ${seconds} s after ${warmup} s; at least ${minPairs} pairs; width ${formatShare(width)}; margin ${formatShare(margin)}`;
}

/** Compares designs with each other. */
function summarizeDesigns({ runs }) {
  const recorded = Math.max(...runs.map(({ completed }) => completed.length)) / 10;
  const rows = DESIGNS.map((own) => ({ ...DEFAULT, ...own }))
    .filter(({ warmup, seconds }) => warmup + seconds <= recorded)
    .map((design) => {
      const { same, slower } = evaluate(runs, design, { count: DRAWN });
      const scatter = computeScatter(pairRuns(runs, design).same);
      const shares = [scatter, same.better + same.worse, same.same, slower.worse];
      const { pairs, seconds } = slower;
      return [
        formatDesign(design),
        ...shares.map(formatPercent),
        pairs.toFixed(1),
        seconds.toFixed(0),
      ];
    });
  const head = ['design', 'scatter of a pair', 'itself: told apart', 'itself: no difference'];
  return formatTable([...head, 'slower: found', 'its pairs', 's'], rows);
}
