import { count, roundTime, share, time } from '../../format/units.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { buckets } from '../buckets.js';
import {
  censoringMatters,
  figure,
  isBounded,
  marksOf,
  sameDistribution,
  statistics,
  unknownShare,
} from '../distribution.js';
import { bar } from './bars.js';
import { paragraph, type Sheet, sideBySide } from './sheet.js';

/** About as many as the percentiles beside it. */
const histogramRows = 11;

const barWidth = 20;
/** Beside figures that take more room. */
const shortBarWidth = 12;

/** Percentiles of latency and service time, with the histogram of latency beside them. */
export function distributionLines(result: LoadResult, sheet: Sheet): string[] {
  if (result.latencyMs.count === 0) return ['No request was sent: there is no latency to show.'];
  const histogram = histogramLines(result, sheet);
  return [
    ...sideBySide(sheet, percentileLines(result, sheet), histogram, 4),
    ...remarks(result).flatMap((remark) => paragraph(sheet, remark, 2, 'dim')),
  ];
}

function percentileLines({ latencyMs, serviceTimeMs }: LoadResult, sheet: Sheet): string[] {
  const same = sameDistribution(latencyMs, serviceTimeMs);
  const columns = same
    ? [column('  latency = service time', 9, latencyMs)]
    : [column('latency', 9, latencyMs), column('service time', 15, serviceTimeMs)];
  const [header = '', ...rows] = columns.reduce((left, right) =>
    left.map((cell, index) => cell + (right[index] ?? '')),
  );
  const names = statistics.map(({ name }) => sheet.paint('dim', name.padEnd(8)));
  return [
    sheet.paint('dim', ' '.repeat(8) + header),
    ...rows.map((row, index) => (names[index] ?? '') + row),
  ];
}

/** A header, and the figures below it. */
function column(name: string, least: number, distribution: Distribution): string[] {
  const cells = statistics.map(({ key }) => figure(distribution, key));
  const width = Math.max(least, ...cells.map((cell) => cell.length + 1));
  return [name.padStart(width), ...cells.map((cell) => cell.padStart(width))];
}

function histogramLines({ percentiles, latencyMs }: LoadResult, sheet: Sheet): string[] {
  const rows = buckets(percentiles.latency, histogramRows).map((row) => ({
    label: roundTime(row.upToMs),
    share: row.share,
  }));
  const unknown = unknownShare(percentiles.latency);
  if (unknown > 0) rows.push({ label: `> ${time(latencyMs.max)}`, share: unknown });
  const most = Math.max(...rows.map((row) => row.share));
  const isShort = isBounded(latencyMs);
  const width = isShort ? shortBarWidth : barWidth;
  const what = isShort ? 'share, by latency' : 'share of requests, by latency';
  const header = sheet.paint('dim', `    up to  ${what}`);
  const lines = rows.map((row) => {
    const label = row.label.padStart(9);
    const length = bar(row.share / most, width);
    return `${sheet.paint('dim', label)}  ${sheet.paint('bar', length.padEnd(width))} ${share(row.share)}`;
  });
  return rows.length > 0 ? [header, ...lines] : [];
}

/** What the figures are, and what is meant by their marks. */
function remarks({ latencyMs, serviceTimeMs, warnings }: LoadResult): string[] {
  const clocks = [latencyMs, serviceTimeMs];
  const warned = warnings.some((warning) => warning.id === 'censored');
  const marks = marksOf(clocks, { bounds: !warned });
  if (warned || clocks.some(isBounded) || !censoringMatters(latencyMs)) return marks;
  const part = `${count(latencyMs.censored)} of ${count(latencyMs.count)} samples`;
  return [
    `censored: of ${part} only the age is known (failed, timed out, or in flight or waiting at the end); the figures are estimates from all of them.`,
    ...marks,
  ];
}
