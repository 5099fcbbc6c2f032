import type { ComparisonMetric, ComparisonRow, ComparisonVerdict } from '../../compare/result.js';
import { bytes, rate, roundTime, significant, time } from '../../format/units.js';

/** How reports show a metric of a comparison. */
interface MetricWords {
  name: string;
  /** Words after an amount, for more and for less of it: `8 % more requests/s`. */
  more: string;
  less: string;
  /** Words after a factor: `2.5 times as many requests/s`. */
  times: string;
  format(value: number): string;
  /** Formats a round value, as on an axis. */
  formatTick(value: number): string;
}

/** Metrics in the order of reports. */
export const METRICS: Record<ComparisonMetric, MetricWords> = {
  throughput: {
    name: 'requests/s',
    more: 'more requests/s',
    less: 'fewer requests/s',
    times: 'as many requests/s',
    format: rate,
    formatTick: rate,
  },
  p50Ms: {
    name: 'p50',
    more: 'longer p50',
    less: 'shorter p50',
    times: 'the p50',
    format: time,
    formatTick: roundTime,
  },
  p99Ms: {
    name: 'p99',
    more: 'longer p99',
    less: 'shorter p99',
    times: 'the p99',
    format: time,
    formatTick: roundTime,
  },
  cpuPerRequestUs: {
    name: 'CPU per request',
    more: 'more CPU per request',
    less: 'less CPU per request',
    times: 'the CPU per request',
    format: (us) => time(us / 1000),
    formatTick: (us) => roundTime(us / 1000),
  },
  memoryMb: {
    name: 'memory',
    more: 'more memory',
    less: 'less memory',
    times: 'the memory',
    format: formatMegabytes,
    formatTick: formatMegabytes,
  },
};

/** Words for iterations of scenarios, in place of those for requests. */
const ITERATION_WORDS: {
  [metric in ComparisonMetric]?: Omit<MetricWords, 'format' | 'formatTick'>;
} = {
  throughput: {
    name: 'iterations/s',
    more: 'more iterations/s',
    less: 'fewer iterations/s',
    times: 'as many iterations/s',
  },
  p50Ms: {
    name: 'active p50',
    more: 'longer active p50 of iterations',
    less: 'shorter active p50 of iterations',
    times: 'the active p50 of iterations',
  },
  p99Ms: {
    name: 'active p99',
    more: 'longer active p99 of iterations',
    less: 'shorter active p99 of iterations',
    times: 'the active p99 of iterations',
  },
};

/** Chooses the words for a metric of requests, or of iterations. */
export function chooseWords({
  metric,
  counted,
}: Pick<ComparisonRow, 'metric' | 'counted'>): MetricWords {
  return { ...METRICS[metric], ...(counted && ITERATION_WORDS[metric]) };
}

function formatMegabytes(megabytes: number): string {
  return bytes(megabytes * 1e6);
}

/** The verdicts as reports print them. */
export const VERDICT_WORDS: Record<ComparisonVerdict, string> = {
  better: 'better',
  worse: 'worse',
  'no-difference': 'no difference',
  'cannot-tell': 'cannot tell',
};

/** Formats a figure of a side; `–` if it is unknown. */
export function formatFigure(metric: ComparisonMetric, value: number | null): string {
  return value === null ? '–' : METRICS[metric].format(value);
}

/** Formats a ratio: `1.081`, `0.0473`, `12.3`. */
export function formatRatio(ratio: number): string {
  if (ratio >= 10) return significant(ratio);
  return ratio >= 0.1 ? ratio.toFixed(3) : String(Number(ratio.toPrecision(3)));
}

/** Formats an interval of a ratio: `1.062 to 1.101`; `–` if it is unknown. */
export function formatRatioInterval(low: number | null, high: number | null): string {
  return low === null || high === null ? '–' : `${formatEnd(low)} to ${formatEnd(high)}`;
}

/** The cells of a row, as text; `~` marks figures of too few responses. */
export function formatCells(row: ComparisonRow): {
  name: string;
  figures: [a: string, b: string];
  ratio: string;
  interval: string;
  word: string;
} {
  const { metric, a, b, ratio, imprecise, verdict } = row;
  const mark = (value: number | null) => (imprecise && value !== null ? '~ ' : '');
  return {
    name: chooseWords(row).name,
    figures: [mark(a) + formatFigure(metric, a), mark(b) + formatFigure(metric, b)],
    ratio: ratio ? formatRatio(ratio.estimate) : '–',
    interval: formatRatioInterval(ratio?.low ?? null, ratio?.high ?? null),
    word: VERDICT_WORDS[verdict],
  };
}

/** Formats an end of an interval; of one that tells nothing only on which side of a bound it is. */
function formatEnd(end: number): string {
  if (end < MIN_END) return `<${MIN_END}`;
  return end > MAX_END ? `>${rate(MAX_END)}` : formatRatio(end);
}

const MIN_END = 0.001;
const MAX_END = 1000;

/** Formats a ratio as a factor in a sentence: `2.5`, `12.3`. */
export function formatFactor(ratio: number): string {
  return ratio >= 100 ? significant(ratio) : String(Number(ratio.toPrecision(3)));
}

/** Formats a ratio as a relative change: `+8.1 %`, `-12 %`, `0 %`. */
export function formatChange(ratio: number): string {
  const size = formatSize(ratio);
  if (size === '0 %') return size;
  return `${ratio > 1 ? '+' : '-'}${size}`;
}

/** Formats the size of a relative change: `8.1 %`, to a hundredth of a percent. */
export function formatSize(ratio: number): string {
  const percent = Math.abs(ratio - 1) * 100;
  const digits = percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : 2;
  return `${Number(percent.toFixed(digits)).toLocaleString('en-US')} %`;
}

/** Formats a confidence: `95 %`, `99.2 %`. */
export function formatConfidence(confidence: number): string {
  return `${Number((confidence * 100).toFixed(1))} %`;
}
