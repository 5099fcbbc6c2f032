import type {
  ComparisonRatio,
  ComparisonResult,
  ComparisonRow,
  ComparisonSideName,
} from '../../compare/result.js';
import { count, duration, plural, share } from '../../format/units.js';
import { labelFallback } from './fallback-labels.js';
import {
  chooseWords,
  formatChange,
  formatConfidence,
  formatFactor,
  formatSize,
} from './metrics.js';
import { isShortLabel } from './names.js';

/** Ratio from which on a change is told as a factor. */
const MIN_FACTOR = 2;

/** Describes which side is faster, by how much and how sure that is, in one sentence. */
export function describeVerdict(result: ComparisonResult): string {
  const { verdict, margin } = result;
  const [a, b] = [nameSide(result, 'a'), nameSide(result, 'b')];
  const measured = describeMeasured(findVerdictRow(result));
  switch (verdict.word) {
    case 'better':
      return `${b} is faster than ${a}: ${measured}.`;
    case 'worse':
      return `${b} is slower than ${a}: ${measured}.`;
    case 'no-difference':
      return `No difference between ${a} and ${b}: ${measured}, within the margin of ${formatSize(1 + margin)}.`;
    case 'cannot-tell': {
      const reason = verdict.reason === null ? '' : `: ${verdict.reason.replace(/\.$/, '')}`;
      return `Cannot tell which is faster, ${a} or ${b}${reason}. Measured for B: ${measured}.`;
    }
  }
}

/** Finds the row that the verdict is taken from. */
export function findVerdictRow({ rows, verdict }: ComparisonResult): ComparisonRow | undefined {
  return rows.find(({ metric, name }) => metric === verdict.metric && name === null);
}

/** Names a side by its letter, with its label if that is short: `B (branch)`. */
function nameSide({ sides }: ComparisonResult, side: ComparisonSideName): string {
  const { label } = sides[side];
  const letter = side.toUpperCase();
  return isShortLabel(label) ? `${letter} (${label})` : letter;
}

/** Describes a ratio with its interval: `8.1 % more requests/s (95 % interval +6.2 % to +10 %)`. */
function describeMeasured(row: ComparisonRow | undefined): string {
  if (!row?.ratio) return 'nothing that compares';
  const { ratio, confidence } = row;
  return `${describeSize(row, ratio.estimate)}${describeInterval(ratio, confidence)}`;
}

function describeSize(row: ComparisonRow, estimate: number): string {
  const words = chooseWords(row);
  if (estimate >= MIN_FACTOR) return `${formatFactor(estimate)} times ${words.times}`;
  const size = formatSize(estimate);
  return size === '0 %'
    ? `the same ${words.name}`
    : `${size} ${estimate > 1 ? words.more : words.less}`;
}

function describeInterval({ estimate, low, high }: ComparisonRatio, confidence: number): string {
  if (low === null || high === null) return ' (no interval: it takes several runs of each side)';
  const format = estimate >= MIN_FACTOR ? formatFactor : formatChange;
  return ` (${formatConfidence(confidence)} interval ${format(low)} to ${format(high)})`;
}

/** Describes how many runs there are, and why there are no more. */
export function describeRuns(result: ComparisonResult): string {
  const { runs, durationMs, ended } = result;
  const of = (side: ComparisonSideName) => runs.filter((run) => run.side === side).length;
  if (ended === 'files')
    return `${count(of('a'))} of A and ${count(of('b'))} of B, from stored results`;
  const took = duration(1000 * Math.max(1, Math.round(durationMs / 1000)));
  return `${count(of('a'))} of A and ${count(of('b'))} of B in turn, in ${took}; ${describeEnd(result)}`;
}

function describeEnd(result: ComparisonResult): string {
  const { ended, width } = result;
  const actual = computeWidth(findVerdictRow(result)?.ratio ?? null);
  const wide =
    actual === null ? 'there is no interval yet' : `the interval is ${formatWidth(actual)} wide`;
  switch (ended) {
    case 'width':
      return `ended as ${wide}${width === null ? '' : ` (--width ${share(width)})`}`;
    case 'budget':
      return `ended as the time was used up (--budget): ${wide}${width === null ? '' : `, ${share(width)} was asked for (--width)`}`;
    default:
      return `interrupted: ${wide}`;
  }
}

/** Formats a width; of one that tells nothing only that it is large. */
function formatWidth(width: number): string {
  return width > MAX_WIDTH ? `more than ${formatSize(1 + MAX_WIDTH)}` : share(width);
}

const MAX_WIDTH = 10;

function computeWidth(ratio: ComparisonRatio | null): number | null {
  if (!ratio || ratio.low === null || ratio.high === null) return null;
  return ratio.high / ratio.low - 1;
}

/** Describes the confidence of the intervals; `null` if there are none. */
function describeConfidence(result: ComparisonResult): string | null {
  const verdictRow = findVerdictRow(result);
  const others = result.rows.filter((row) => row !== verdictRow && hasInterval(row));
  if (!verdictRow || !hasInterval(verdictRow)) return null;
  const own = `${formatConfidence(verdictRow.confidence)} for ${chooseWords(verdictRow).name}`;
  if (others.length === 0) return own;
  const [low, high] = ([Math.min, Math.max] as const).map((pick) =>
    formatConfidence(pick(...others.map(({ confidence }) => confidence))),
  );
  const range = low === high ? `${low}` : `${low} to ${high}`;
  return `${own}; ${range} for the others, corrected for their number`;
}

/** Whether an interval is known. */
export function hasInterval({ ratio }: ComparisonRow): boolean {
  return ratio !== null && ratio.low !== null && ratio.high !== null;
}

/** Describes the share of the requests that the native stack served; `null` if the stack is not compared. */
function describeStack({ stack }: ComparisonResult): string | null {
  if (stack === undefined) return null;
  if (stack === null) return "unknown: the stack's statistics could not be read";
  const { native, fallback, fallbackReasons } = stack;
  const total = native + fallback;
  if (total === 0) return 'served no request';
  const reasons = Object.entries(fallbackReasons)
    .sort(([, a], [, b]) => b - a)
    .map(
      ([reason, connections]) => `${labelFallback(reason)} (${plural(connections, 'connection')})`,
    );
  const why = reasons.length > 0 ? `; to Node's own code: ${reasons.join(', ')}` : '';
  return `served ${share(native / total)} of B's requests natively (${count(native)} of ${count(total)})${why}`;
}

/** Lists the grounds of a verdict besides its runs, each as a label and a sentence. */
export function listGrounds(result: ComparisonResult): [label: string, sentence: string][] {
  const grounds: [label: string, sentence: string | null][] = [
    ['intervals', describeConfidence(result)],
    ['native stack', describeStack(result)],
    ['undecided', describeDoubts(result)],
    ['imprecise', describeImprecise(result)],
  ];
  return grounds.filter((ground): ground is [string, string] => ground[1] !== null);
}

/** Says why rows of all requests tell nothing, where the verdict does not say it. */
function describeDoubts({ rows, verdict }: ComparisonResult): string | null {
  const doubted = rows.filter(({ name, doubt }) => name === null && doubt);
  const others = doubted.filter(({ doubt }) => doubt !== verdict.reason);
  const parts = others.map((row) => `${chooseWords(row).name}: ${row.doubt}`);
  return parts.length > 0 ? parts.join('; ') : null;
}

/** Explains the mark of figures of too few responses. */
function describeImprecise({ rows }: ComparisonResult): string | null {
  if (!rows.some(({ imprecise }) => imprecise)) return null;
  return `~ marks figures of runs with few responses: p50 takes 20 in each, p99 100 (longer runs, -d, have more)`;
}

/** Describes the runs that the load generator limited; `null` if there are none. */
export function describeClientBound({ runs }: ComparisonResult): string | null {
  const bound = runs.filter(({ clientBound }) => clientBound).length;
  if (bound === 0) return null;
  return `CLIENT-BOUND: in ${count(bound)} of ${plural(runs.length, 'run')} the load generator was the limit, not the server. Use a lower load, a quieter or another machine, or more threads (-t) where cores are free.`;
}
