// Formats the trials of explain as text. Pure.

import { formatCount, formatShare, formatTable } from '../documents/table.js';
import { computeMedian } from '../harness/statistics.js';
import { isConfident, OUTCOMES } from './judge.js';

const HEAD = [
  'service',
  'expected',
  'verdict',
  'outcome',
  'predicted/s',
  'measured/s',
  'drift',
  'error',
  'places',
  'time',
  'doctor',
];

/** Formats the table of all cases: `results` are `{ bench, trials }`, or `{ bench, skipped }` with the reason. */
export function formatResultTable(results) {
  return formatTable(HEAD, results.map(formatRow));
}

function formatRow({ bench, trials, skipped }) {
  const expected = bench.expected.join(' or ');
  if (skipped)
    return [bench.name, expected, `left out: ${skipped}`, ...HEAD.slice(3).map(() => '')];
  const predictions = trials.map(({ judged }) => judged.prediction).filter(Boolean);
  return [
    bench.name,
    expected,
    countTexts(trials.map(formatVerdict)),
    countTexts(trials.map(({ judged }) => judged.outcome)),
    ...formatPredictions(predictions),
    formatPlaces(trials.map(({ places }) => places ?? [])),
    `${computeMedian(trials.map(({ seconds }) => seconds)).toFixed(0)} s`,
    countTexts(
      trials
        .filter(({ doctor }) => doctor)
        .map(({ doctor }) => `${doctor.category}${doctor.fits ? ', right' : ''}`),
    ),
  ];
}

function formatVerdict({ judged: { said, status }, explanation, failure }) {
  if (failure) return `failed: ${failure}`;
  const also = explanation.verdict.alsoLimiting;
  const words = said === status ? [status] : [said, status].filter(Boolean);
  return `${words.join(', ')}${also.length > 0 ? ` (also ${also.join(', ')})` : ''}`;
}

function formatPredictions(predictions) {
  if (predictions.length === 0) return ['', '', '', ''];
  const middle = (pick) => computeMedian(predictions.map(pick));
  const range = ['low', 'high'].map((end) =>
    formatCount(middle(({ predicted }) => predicted[end])),
  );
  return [
    range.join('..'),
    formatCount(middle(({ measured }) => measured)),
    // Older results have no drift.
    predictions.every(({ drift }) => drift > 0) ? middle(({ drift }) => drift).toFixed(2) : '',
    formatShare(middle(({ error }) => error)),
  ];
}

/** Formats what was found at each place, the median over the trials, of what is known to be there. */
function formatPlaces(trials) {
  const [first = []] = trials;
  return first
    .map(({ graph, place, expected, relative }, index) => {
      const found = trials.map((places) => places[index]?.found ?? null).filter(isKnown);
      if (found.length === 0) return `${graph} of ${place}: none`;
      const middle = computeMedian(found);
      const [is, of] = [middle, expected].map(relative ? formatCount : formatShare);
      const far = relative
        ? formatShare(Math.abs(middle / expected - 1))
        : `${(Math.abs(middle - expected) * 100).toFixed(0)} points`;
      return `${graph} of ${place}: ${is} of ${of} (${far})`;
    })
    .join('; ');
}

const isKnown = (value) => value !== null;

/** Lists each text once, with its number of occurrences. */
function countTexts(texts) {
  const times = new Map();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  const several = [...times].toSorted(([, a], [, b]) => b - a);
  return several.map(([text, n]) => (n > 1 ? `${n} × ${text}` : text)).join('; ');
}

/** Formats the lines below the table: shares over all trials. */
export function formatSummary(results) {
  const trials = results.flatMap((result) => result.trials ?? []);
  if (trials.length === 0) return [];
  const outcomes = trials.map(({ judged }) => judged.outcome);
  const number = (holds) => outcomes.filter(holds).length;
  const of = (n) => `${n} of ${trials.length} (${formatShare(n / trials.length)})`;
  const each = OUTCOMES.map((outcome) => [outcome, number((one) => one === outcome)]);
  const predictions = trials.map(({ judged }) => judged.prediction).filter(Boolean);
  return [
    `- right: ${of(number((one) => one === 'right'))}`,
    `- wrong and sure of it: ${of(number(isConfident))}`,
    `- outcomes: ${each.map(([outcome, n]) => `${outcome} ${n}`).join(', ')}`,
    formatPredictionSummary('predictions', predictions),
    ...formatDrift(predictions),
    ...formatUndisturbed(trials),
    ...formatPlaceSummary(trials.flatMap(({ places = [] }) => places)),
    ...formatDoctor(trials.filter(({ doctor }) => doctor)),
  ];
}

/** Share of the CPU time from which on steal by the machine's host disturbs a trial. */
const MIN_DISTURBANCE = 0.03;

/** Formats the line of the trials without steal; older results without that figure are left out. */
function formatUndisturbed(trials) {
  const known = trials.filter(({ stolen }) => stolen);
  const disturbed = known.filter(({ stolen }) => stolen.inAll >= MIN_DISTURBANCE);
  if (disturbed.length === 0) return [];
  const others = known.filter((one) => !disturbed.includes(one));
  const right = others.filter(({ judged }) => judged.outcome === 'right').length;
  const most = Math.max(...disturbed.map(({ stolen }) => stolen.inAll));
  return [
    `- the machine's host took ${formatShare(MIN_DISTURBANCE)} or more (up to ${formatShare(most)}) of the CPU time in ${disturbed.length} of ${known.length} trials; of the others ${right} of ${others.length} right`,
    formatPredictionSummary(
      'predictions in the others',
      others.map(({ judged }) => judged.prediction).filter(Boolean),
    ),
  ];
}

/** Formats how many places were found, and how far off: shares within 5 points, bytes within 10 %. */
function formatPlaceSummary(places) {
  if (places.length === 0) return [];
  const found = places.filter((one) => one.found !== null);
  const within = places.filter((one) => one.within).length;
  const points = found.filter(({ relative }) => !relative).map(({ distance }) => distance);
  const median = points.length > 0 ? `, shares ${computeMedian(points).toFixed(0)} points off` : '';
  return [
    `- places: ${places.length} known, ${found.length} in a graph that was drawn, ${within} within 5 points or 10 % of bytes${median}`,
  ];
}

function formatPredictionSummary(name, predictions) {
  if (predictions.length === 0) return `- ${name}: none that can be compared`;
  const error = computeMedian(predictions.map((one) => one.error));
  const within = predictions.filter((one) => one.within).length;
  return `- ${name}: ${predictions.length} compared, median error ${formatShare(error)}, ${formatShare(within / predictions.length)} within the predicted range`;
}

/** Formats the drift of the same service between two times, which bounds the accuracy of predictions. Older results have none. */
function formatDrift(predictions) {
  const changes = predictions
    .filter(({ drift }) => drift > 0)
    .map(({ drift }) => computeChange(drift));
  if (changes.length === 0) return [];
  return [
    `- meanwhile the service as it is changed by ${formatShare(computeMedian(changes))} in the median, ${formatShare(Math.max(...changes))} at most, which is taken out above`,
  ];
}

/** Computes the distance of a ratio from 1, equal for a ratio and its reciprocal. */
function computeChange(ratio) {
  return Math.max(ratio, 1 / ratio) - 1;
}

function formatDoctor(trials) {
  if (trials.length === 0) return [];
  const right = trials.filter(({ doctor }) => doctor.fits).length;
  const unknown = trials.filter(({ doctor }) => doctor.category === 'unknown').length;
  const of = (n) => formatShare(n / trials.length);
  return [
    `- clinic doctor's rules: right category ${of(right)}, unknown ${of(unknown)}, wrong category ${of(trials.length - right - unknown)}`,
  ];
}

/** Formats the lines of a case in the written result. */
export function formatCase({ bench, trials, skipped }) {
  const lines = [`## ${bench.name}`, '', `${bench.because}.`, ''];
  if (skipped) return [...lines, `- left out: ${skipped}`, ''];
  const said = trials.map(({ explanation, failure, judged }) =>
    failure ? `- failed: ${failure}` : `- ${judged.outcome}: ${explanation.verdict.sentence}`,
  );
  return [...lines, ...said, ''];
}
