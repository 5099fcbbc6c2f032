import { count, roundTime, share, time } from '../../format/units.js';
import { hasResponse, isAnswered } from '../../load/answered.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { buildBuckets } from '../distributions/buckets.js';
import {
  computeUnknownShare,
  explainMarks,
  formatStatistic,
  isBounded,
  isCensoringVisible,
  isSameDistribution,
  STATISTICS,
} from '../distributions/distribution.js';
import { drawBar } from './bars.js';
import { formatParagraph, joinColumns, type Sheet } from './sheet.js';

/** Number of histogram rows, similar to that of the percentiles next to it. */
const HISTOGRAM_ROWS = 11;

const BAR_WIDTH = 20;
/** Width of bars next to statistics that take more space. */
const SHORT_BAR_WIDTH = 12;

/** Formats the percentiles of latency and service time next to the histogram of latency. */
export function formatDistributions(result: LoadResult, sheet: Sheet): string[] {
  if (result.latencyMs.count === 0) return ['No request was sent: there is no latency to show.'];
  if (!hasResponse(result)) {
    // A warning tells of responses that did not end.
    const what = isAnswered(result) ? 'Responses began and none ended' : 'No response came';
    return [`${what}: there is no latency to show.`];
  }
  const histogram = formatHistogram(result, sheet);
  return [
    ...joinColumns(sheet, formatPercentiles(result, sheet), histogram, 4),
    ...listRemarks(result).flatMap((remark) => formatParagraph(sheet, remark, 2, 'dim')),
  ];
}

function formatPercentiles({ latencyMs, serviceTimeMs }: LoadResult, sheet: Sheet): string[] {
  const same = isSameDistribution(latencyMs, serviceTimeMs);
  const columns = same
    ? [formatColumn('  latency = service time', 9, latencyMs)]
    : [formatColumn('latency', 9, latencyMs), formatColumn('service time', 15, serviceTimeMs)];
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

function formatHistogram({ percentiles, latencyMs }: LoadResult, sheet: Sheet): string[] {
  const rows = buildBuckets(percentiles.latency, HISTOGRAM_ROWS).map((row) => ({
    label: roundTime(row.upToMs),
    share: row.share,
  }));
  const unknown = computeUnknownShare(percentiles.latency);
  if (unknown > 0) rows.push({ label: `> ${time(latencyMs.max)}`, share: unknown });
  const highest = Math.max(...rows.map((row) => row.share));
  const isShort = isBounded(latencyMs);
  const width = isShort ? SHORT_BAR_WIDTH : BAR_WIDTH;
  const what = isShort ? 'share, by latency' : 'share of requests, by latency';
  const header = sheet.paint('dim', `    up to  ${what}`);
  const lines = rows.map((row) => {
    const label = row.label.padStart(9);
    const length = drawBar(row.share / highest, width);
    return `${sheet.paint('dim', label)}  ${sheet.paint('bar', length.padEnd(width))} ${share(row.share)}`;
  });
  return rows.length > 0 ? [header, ...lines] : [];
}

/** Lists remarks on censoring and on the marks of statistics. */
function listRemarks({ latencyMs, serviceTimeMs, warnings }: LoadResult): string[] {
  const clocks = [latencyMs, serviceTimeMs];
  const warned = warnings.some((warning) => warning.id === 'censored');
  const marks = explainMarks(clocks, { bounds: !warned });
  if (warned || clocks.some(isBounded) || !isCensoringVisible(latencyMs)) return marks;
  const part = `${count(latencyMs.censored)} of ${count(latencyMs.count)} samples`;
  return [
    `censored: ${part} did not finish (failed, timed out, or in flight or waiting at the end), so only their age is known; the statistics are estimated from all samples.`,
    ...marks,
  ];
}
