import { count, plural, roundTime, share, time } from '../../format/units.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { buildBuckets } from '../distributions/buckets.js';
import { type Clocks, selectClocks } from '../distributions/clocks.js';
import {
  computeUnknownShare,
  explainMarks,
  formatStatistic,
  isBounded,
  isCensoringVisible,
  STATISTICS,
} from '../distributions/distribution.js';
import { drawBar } from './bars.js';
import { formatParagraph, joinColumns, type Sheet } from './sheet.js';

/** Number of histogram rows, similar to that of the percentiles next to it. */
const HISTOGRAM_ROWS = 11;

const BAR_WIDTH = 20;
/** Width of bars next to statistics that take more space. */
const SHORT_BAR_WIDTH = 12;

/** Formats the percentiles of both clocks next to the histogram of the first: latency and service time, or those of iterations. */
export function formatDistributions(result: LoadResult, sheet: Sheet): string[] {
  const clocks = selectClocks(result);
  if (typeof clocks === 'string') return [clocks];
  const histogram = formatHistogram(clocks, sheet);
  return [
    ...joinColumns(sheet, formatPercentiles(clocks, sheet), histogram, 4),
    ...listRemarks(clocks, result).flatMap((remark) => formatParagraph(sheet, remark, 2, 'dim')),
  ];
}

function formatPercentiles({ first, second, both }: Clocks, sheet: Sheet): string[] {
  const columns =
    second === null
      ? [formatColumn(`  ${both}`, 9, first.times)]
      : [formatColumn(first.label, 9, first.times), formatColumn(second.label, 15, second.times)];
  const [header = '', ...rows] = columns.reduce((left, right) =>
    left.map((cell, index) => cell + (right[index] ?? '')),
  );
  const names = STATISTICS.map(({ name }) => sheet.paint('dim', name.padEnd(8)));
  return [
    sheet.paint('dim', ' '.repeat(8) + header),
    ...rows.map((row, index) => (names[index] ?? '') + row),
  ];
}

/** Formats a column: a header, and the statistics below it. */
function formatColumn(name: string, minWidth: number, distribution: Distribution): string[] {
  const cells = STATISTICS.map(({ key }) => formatStatistic(distribution, key));
  const width = Math.max(minWidth, ...cells.map((cell) => cell.length + 1));
  return [name.padStart(width), ...cells.map((cell) => cell.padStart(width))];
}

function formatHistogram({ first, noun, quantity }: Clocks, sheet: Sheet): string[] {
  const { points, times } = first;
  const rows = buildBuckets(points, HISTOGRAM_ROWS).map((row) => ({
    label: roundTime(row.upToMs),
    share: row.share,
  }));
  const unknown = computeUnknownShare(points);
  if (unknown > 0) rows.push({ label: `> ${time(times.max)}`, share: unknown });
  const highest = Math.max(...rows.map((row) => row.share));
  const isShort = isBounded(times);
  const width = isShort ? SHORT_BAR_WIDTH : BAR_WIDTH;
  const what = isShort ? `share, by ${quantity}` : `share of ${noun}s, by ${quantity}`;
  const header = sheet.paint('dim', `    up to  ${what}`);
  const lines = rows.map((row) => {
    const label = row.label.padStart(9);
    const length = drawBar(row.share / highest, width);
    return `${sheet.paint('dim', label)}  ${sheet.paint('bar', length.padEnd(width))} ${share(row.share)}`;
  });
  return rows.length > 0 ? [header, ...lines] : [];
}

/** Lists remarks on the clocks, on censoring and on the marks of statistics. */
function listRemarks({ first, second, noun, remark }: Clocks, { warnings }: LoadResult): string[] {
  const clocks = second === null ? [first.times] : [first.times, second.times];
  // The warning is about requests.
  const warned = noun === 'request' && warnings.some((warning) => warning.id === 'censored');
  const marks = explainMarks(clocks, { bounds: !warned });
  const remarks = remark === null ? marks : [remark, ...marks];
  if (warned || clocks.some(isBounded) || !isCensoringVisible(first.times)) return remarks;
  const part = `${count(first.times.censored)} of ${plural(first.times.count, 'sample')}`;
  const how =
    noun === 'request'
      ? 'failed, timed out, or in flight or waiting at the end'
      : 'failed, or in progress at the end';
  return [
    `censored: ${part} did not finish (${how}), so only their age is known; the statistics are estimated from all samples.`,
    ...remarks,
  ];
}
