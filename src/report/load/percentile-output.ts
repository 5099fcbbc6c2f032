import type { Durations } from '../../statistics/durations.js';

/** Lines for each halving of the share of slower requests, as HdrHistogram prints them. */
const LINES_PER_HALF = 5;

/**
 * Formats a distribution as HdrHistogram prints percentiles (`.hgrm`), in milliseconds. Where the longest times are only
 * known to be longer than all others, the lines end before 100 %.
 */
export function formatPercentileOutput(durations: Durations): string {
  const { count, values } = durations;
  const total = Math.round(count);
  const lines = [
    `${'Value'.padStart(12)} ${'Percentile'.padStart(14)} ${'TotalCount'.padStart(10)} ${'1/(1-Percentile)'.padStart(14)}`,
    '',
  ];
  let [seen, next] = [0, 0];
  for (const [index, { ms, count: number }] of values.entries()) {
    seen += number;
    const reached = Math.min(100, (100 * seen) / count);
    const isEnd = index === values.length - 1 && !durations.censoredTail;
    // HdrHistogram prints a value once for every percentile that it reaches, the last one once.
    while (next <= reached && next < 100) {
      lines.push(formatLine(ms, next, Math.round(seen)));
      next += computeStep(next);
      if (isEnd) break;
    }
    if (isEnd) lines.push(formatLine(ms, 100, total));
  }
  return [...lines, ...formatSummary(durations), ''].join('\n');
}

/** Computes the distance to the next percentile: `LINES_PER_HALF` of them halve the rest. In percent, sums of them are exact. */
function computeStep(percentile: number): number {
  const halvings = Math.floor(Math.log2(100 / (100 - percentile)) + 1e-9) + 1;
  return 100 / (LINES_PER_HALF * 2 ** halvings);
}

function formatLine(ms: number, percentile: number, seen: number): string {
  const share = percentile / 100;
  const known = [
    ms.toFixed(3).padStart(12),
    share.toFixed(12).padStart(14),
    String(seen).padStart(10),
  ];
  const inverse = share < 1 ? [(1 / (1 - share)).toFixed(2).padStart(14)] : [];
  return [...known, ...inverse].join(' ');
}

function formatSummary({ count, values, censoredTail }: Durations): string[] {
  // Times of which only a lower bound is known count as that.
  const all = censoredTail ? [...values, censoredTail] : values;
  const average = (read: (ms: number) => number) =>
    count > 0 ? all.reduce((sum, { ms, count }) => sum + read(ms) * count, 0) / count : 0;
  const mean = average((ms) => ms);
  const stdev = Math.sqrt(average((ms) => (ms - mean) ** 2));
  const max = all.at(-1)?.ms ?? 0;
  const number = (value: number) => value.toFixed(3).padStart(12);
  return [
    `#[Mean    = ${number(mean)}, StdDeviation   = ${number(stdev)}]`,
    `#[Max     = ${number(max)}, Total count    = ${String(Math.round(count)).padStart(12)}]`,
    ...(censoredTail
      ? [
          `#[${Math.round(censoredTail.count)} requests took longer than ${censoredTail.ms.toFixed(3)}: how long is not known]`,
        ]
      : []),
  ];
}
