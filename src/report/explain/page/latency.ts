import type { LimitId } from '../../../explain/limit-ids.js';
import type { Explanation } from '../../../explain/result.js';
import { roundTime, share, time } from '../../../format/units.js';
import { estimateLatencies } from '../../../statistics/durations.js';
import { formatStatistic } from '../../distributions/distribution.js';
import { type Bin, buildLogBins } from '../../distributions/histogram.js';
import { type ChartMark, renderChart, toPixels } from '../../html/charts/chart.js';
import {
  createLinearScale,
  createLogScale,
  listDecades,
  listMultiples,
  type Scale,
} from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';

/** Times of TCP timers that appear as peaks, each with the limit that requests wait for it at. */
const TIMER_MARKS: (ChartMark & { limit: LimitId })[] = [
  { x: 40, label: '40 ms: delayed ACK', color: 'muted', limit: 'nagle-delayed-ack' },
  { x: 200, label: '200 ms: retransmission', color: 'muted', limit: 'packet-loss' },
  { x: 1000, label: '1 s: SYN retransmission', color: 'muted', limit: 'listen-backlog' },
];

const MAX_BINS = 60;
/** Minimum ratio between the ends of the time axis. */
const MIN_SPAN = 6;

/** Renders the distribution of response times, with the times of the TCP timers that were not ruled out. */
export function renderLatency({ load, ruledOut }: Explanation): Markup | null {
  const { latencyMs, histograms } = load;
  const bins = buildLogBins(estimateLatencies([histograms]), MAX_BINS);
  const [first, last] = [bins[0], bins.at(-1)];
  if (!first || !last) return null;
  const x = createTimeScale(first.fromMs, last.toMs);
  const y = createLinearScale(1.08 * Math.max(...bins.map((bin) => bin.share)));
  return renderChart({
    title: 'Distribution of response times',
    caption:
      'Share of the requests by latency. Requests in a peak at a marked TCP timer may wait for that timer. Logarithmic scale of time.',
    summary: `Response times: median ${formatStatistic(latencyMs, 'p50')}, 99th percentile ${formatStatistic(latencyMs, 'p99')}, maximum ${formatStatistic(latencyMs, 'max')}.`,
    x: { scale: x, ticks: listDecades(x), label: roundTime },
    y: { scale: y, ticks: listMultiples(y), label: share },
    content: bins.filter((bin) => bin.share > 0).map((bin) => drawBin(bin, x, y)),
    marks: TIMER_MARKS.filter(({ limit }) => ruledOut.every((other) => other.limit !== limit)),
  });
}

function createTimeScale(lowest: number, highest: number): Scale {
  const missing = Math.max(1.1, Math.sqrt(MIN_SPAN / (highest / lowest)));
  return createLogScale(lowest / missing, highest * missing);
}

/** Draws a bin, at least one pixel high. */
function drawBin({ fromMs, toMs, share: part }: Bin, x: Scale, y: Scale): Markup {
  const [from, to] = [x.at(fromMs), x.at(toMs)];
  const ground = toPixels(y, 0);
  const above = Math.min(toPixels(y, part), ground - 1);
  return html`<rect class="bar" x="${from}%" width="${Number((to - from).toFixed(2))}%" y="${above}" height="${Number((ground - above).toFixed(1))}"><title>${time(fromMs)} to ${time(toMs)}: ${share(part)}</title></rect>`;
}
