import { count, rate, share } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { LoadResult, NamedResult } from '../../load/result.js';
import { type Durations, decodeDurations, estimateUncensored } from '../../statistics/durations.js';
import { formatStatistic, isSameDistribution } from '../distributions/distribution.js';
import { listPercentilePoints } from '../distributions/percentiles.js';
import { countFailed } from '../failed.js';
import { html, type Markup } from './markup.js';
import { renderSection } from './page.js';
import { buildPercentilePlot, type PercentileLine } from './percentile-plot.js';
import { type Plot, renderPlot } from './plot.js';
import { renderTable } from './tables.js';

/** Maximum number of names with a plot; the table contains all. */
const MAX_PLOTS = 20;

const POINTS = ['p50', 'p90', 'p99', 'p99_9', 'max'] as const;

/** Renders the requests by name: a table, and the plots of those with most time; `null` if there is one name only, or scenarios have steps. */
export function renderByName(
  { byName = [], steps = [] }: LoadResult,
  plots: Plot[],
): Markup | null {
  if (byName.length < 2 || steps.length > 0) return null;
  const note =
    byName.length > plots.length
      ? html`<p class="note">The ${plots.length} names with the most time have a plot.</p>`
      : null;
  return renderSection(
    'By request name',
    html`<div class="by-name">${renderNameTable(byName)}</div>`,
    note,
    html`<div class="small-plots">${plots.map(renderPlot)}</div>`,
  );
}

/** Builds a plot of the latencies of each name, of those with most time. */
export function buildNamePlots({ byName = [] }: LoadResult): Plot[] {
  if (byName.length < 2) return [];
  return byName.filter(hasResponse).slice(0, MAX_PLOTS).map(buildNamePlot);
}

function renderNameTable(byName: NamedResult[]): Markup | null {
  return renderTable(
    'Those with the most time first; latency from the moment a request was due',
    ['name', 'time', 'sent', 'req/s', 'p50', 'p90', 'p99', 'p99.9', 'max', 'failed'],
    byName.map((one) => [
      html`<code>${one.name}</code>`,
      one.timeShare === null ? '–' : share(one.timeShare),
      count(one.requests.sent),
      rate(one.throughput),
      ...POINTS.map((point) =>
        hasResponse(one) ? formatStatistic(one.latencyMs, point, '≥') : '–',
      ),
      count(countFailed(one)),
    ]),
  );
}

function buildNamePlot(one: NamedResult): Plot {
  const { name, latencyMs, serviceTimeMs, histograms, timeShare } = one;
  const { latency, latencyCensored, serviceTime, serviceTimeCensored } = histograms;
  const lines = [toLine('latency', latency, latencyCensored, 'first')];
  if (!isSameDistribution(latencyMs, serviceTimeMs)) {
    lines.push(toLine('service time', serviceTime, serviceTimeCensored, 'second'));
  }
  return buildPercentilePlot({
    title: name,
    caption: `${timeShare === null ? '' : `${share(timeShare)} of the time, `}${rate(one.throughput)} req/s.`,
    summary: `Latency of ${name}: median ${formatStatistic(latencyMs, 'p50')}, 99th percentile ${formatStatistic(latencyMs, 'p99')}.`,
    count: latencyMs.count,
    lines,
  });
}

function toLine(
  label: string,
  all: string,
  censored: string,
  color: 'first' | 'second',
): PercentileLine {
  const times: Durations = estimateUncensored(decodeDurations(all), decodeDurations(censored));
  return { label, points: listPercentilePoints(times), color, dashed: color === 'second' };
}
