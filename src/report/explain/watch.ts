import type { WatchedTraffic, WatchReason, WatchReport } from '../../explain/watch/result.js';
import { amount } from '../../format/ratios.js';
import { bytes, cores, duration, plural, rate, share, time } from '../../format/units.js';
import { drawBar } from '../text/bars.js';
import {
  createSheet,
  formatIndented,
  formatParagraph,
  joinBlocks,
  type Sheet,
} from '../text/sheet.js';
import { formatPaths } from './code.js';
import { describeWaitPaths } from './paths.js';
import { STATUS } from './status.js';

const REASONS: Record<WatchReason, string> = {
  start: 'first window',
  interval: 'regular report',
  'limit-changed': 'the limit has changed',
  condition: 'the condition holds',
  ended: 'the process has ended',
};

const BAR_WIDTH = 20;
/** Maximum number of routes, of stages and of processes that are printed. */
const [MAX_ROUTES, MAX_STAGES, MAX_PROCESSES] = [3, 6, 4];

/** Formats a report of a watch as text, without a trailing line break. */
export function formatWatchText(
  report: WatchReport,
  options: { color: boolean; width: number },
): string {
  const sheet = createSheet(options);
  return joinBlocks([
    [formatHead(report, sheet), ...formatTraffic(report, sheet)],
    formatVerdict(report, sheet),
    formatStages(report, sheet),
    formatWaits(report, sheet),
    formatFunctions(report, sheet),
    formatRoutes(report, sheet),
    report.cannotSee.flatMap((line) => formatIndented(sheet, `not seen: ${line}`)),
  ]);
}

function formatHead({ reason, startedAt, durationMs, pid, condition }: WatchReport, sheet: Sheet) {
  const end = new Date(Date.parse(startedAt) + durationMs);
  const why = condition?.condition ?? REASONS[reason];
  return sheet.paint(
    'dim',
    `${end.toISOString().slice(0, 19)}Z  process ${pid}, last ${duration(Math.round(durationMs / 100) * 100)}: ${why}`,
  );
}

function formatTraffic({ traffic, processes }: WatchReport, sheet: Sheet): string[] {
  const shown = processes.slice(0, MAX_PROCESSES);
  const use = shown.map(
    ({ pid, run, cores: all, rssMb }) =>
      `process ${pid}: main thread ${share(run)}, ${cores(all)} cores, ${bytes(rssMb * 1e6)}`,
  );
  const more = processes.length - shown.length;
  return [
    ...(traffic ? formatParagraph(sheet, describeTraffic(traffic), 2) : []),
    ...use,
    ...(more > 0 ? [`and ${plural(more, 'process', 'processes')} more`] : []),
  ];
}

function describeTraffic({ rate: perSecond, responseMs, ...others }: WatchedTraffic): string {
  const { inFlight, unread, errorShare, abortedShare } = others;
  const { mean, p50, p99 } = responseMs;
  return [
    `${rate(perSecond)} req/s`,
    `p50 ${time(p50)}, p99 ${time(p99)}, mean ${time(mean)}`,
    `${amount(inFlight)} in flight${unread >= 0.05 ? `, ${amount(unread)} of them unread` : ''}`,
    ...(errorShare > 0 ? [`${share(errorShare)} errors (5xx, 429)`] : []),
    ...(abortedShare > 0 ? [`${share(abortedShare)} aborted by clients`] : []),
  ].join('; ');
}

function formatVerdict({ verdict, remedy, confirmation }: WatchReport, sheet: Sheet): string[] {
  const { limit, status, sentence, arithmetic, alsoLimiting } = verdict;
  const ink = status === 'cannot-tell' ? 'warning' : 'strong';
  const { word } = STATUS[status];
  return [
    sheet.paint(ink, limit ? `${word}  ${limit}` : word),
    ...formatParagraph(sheet, sentence, 2, 'strong'),
    ...[
      ...arithmetic,
      ...(alsoLimiting.length > 0 ? [`also: ${alsoLimiting.join(', ')}`] : []),
      ...(remedy ? [`to get more: ${remedy}`] : []),
      ...(confirmation ? [`to confirm: ${confirmation}`] : []),
    ].flatMap((line) => formatIndented(sheet, line)),
  ];
}

function formatStages({ population }: WatchReport, sheet: Sheet): string[] {
  const total = population.reduce((sum, { requests }) => sum + requests, 0);
  if (total < 1) return [];
  const shown = population.toSorted((a, b) => b.requests - a.requests).slice(0, MAX_STAGES);
  const width = Math.max(...shown.map(({ label }) => label.length));
  return [
    sheet.paint('dim', `where the ${amount(total)} requests in flight are`),
    ...shown.map(({ label, requests }) => {
      const bar = drawBar(requests / total, BAR_WIDTH).padEnd(BAR_WIDTH);
      return `  ${label.padEnd(width)}  ${sheet.paint('bar', bar)} ${amount(requests)}`;
    }),
  ];
}

function formatWaits({ waits }: WatchReport, sheet: Sheet): string[] {
  if (waits.length === 0) return [];
  return [
    sheet.paint('dim', 'in your code, by waiting requests'),
    ...formatPaths(describeWaitPaths(waits), sheet),
  ];
}

function formatFunctions({ hot }: WatchReport, sheet: Sheet): string[] {
  if (hot.length === 0) return [];
  return [
    sheet.paint('dim', "the loop's time, by function"),
    ...hot.map(
      ({ name, place, share: part }) =>
        `  ${share(part).padStart(6)}  ${name}  ${sheet.paint('dim', place)}`,
    ),
  ];
}

function formatRoutes({ routes }: WatchReport, sheet: Sheet): string[] {
  if (routes.length < 2) return [];
  return [
    sheet.paint('dim', "the loop's time, by route"),
    ...routes
      .slice(0, MAX_ROUTES)
      .flatMap(({ route, rate: perSecond, meanMs, p99Ms, loopShare }) =>
        formatIndented(
          sheet,
          `${share(loopShare)}  ${route}: ${rate(perSecond)}/s, mean ${time(meanMs)}, p99 ${time(p99Ms)}`,
        ),
      ),
  ];
}
