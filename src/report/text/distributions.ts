import type { LoadResult } from '../../load/result.js';
import { buckets } from '../buckets.js';
import { censoringMatters, sameDistribution, statistics } from '../distribution.js';
import { count, roundTime, share, time } from '../units.js';
import { bar } from './bars.js';
import { paragraph, type Sheet, sideBySide } from './sheet.js';

/** About as many as the percentiles beside it. */
const histogramRows = 11;

const barWidth = 20;

/** Percentiles of latency and service time, with the histogram of latency beside them. */
export function distributionLines(result: LoadResult, sheet: Sheet): string[] {
  if (result.latencyMs.count === 0) return ['No request was sent: there is no latency to show.'];
  const histogram = histogramLines(result.percentiles.latency, sheet);
  return [
    ...sideBySide(sheet, percentileLines(result, sheet), histogram, 4),
    ...censored(result, sheet),
  ];
}

function percentileLines({ latencyMs, serviceTimeMs }: LoadResult, sheet: Sheet): string[] {
  const same = sameDistribution(latencyMs, serviceTimeMs);
  const header = same ? '          latency = service time' : '          latency   service time';
  const rows = statistics.map(({ name, key }) => {
    const service = same ? '' : time(serviceTimeMs[key]).padStart(15);
    return sheet.paint('dim', name.padEnd(8)) + time(latencyMs[key]).padStart(9) + service;
  });
  return [sheet.paint('dim', header), ...rows];
}

function histogramLines(points: LoadResult['percentiles']['latency'], sheet: Sheet): string[] {
  const rows = buckets(points, histogramRows);
  const most = Math.max(...rows.map((row) => row.share));
  const header = sheet.paint('dim', '    up to  share of requests, by latency');
  const lines = rows.map((row) => {
    const label = roundTime(row.upToMs).padStart(9);
    const length = bar(row.share / most, barWidth);
    return `${sheet.paint('dim', label)}  ${sheet.paint('bar', length.padEnd(barWidth))} ${share(row.share)}`;
  });
  return rows.length > 0 ? [header, ...lines] : [];
}

function censored({ latencyMs, warnings }: LoadResult, sheet: Sheet): string[] {
  const warned = warnings.some((warning) => warning.id === 'censored');
  if (warned || !censoringMatters(latencyMs)) return [];
  const text = `censored: ${count(latencyMs.censored)} of ${count(latencyMs.count)} samples (failed, timed out, or in flight or waiting at the end) count at their age; the truth is at least that.`;
  return paragraph(sheet, text, 2, 'dim');
}
