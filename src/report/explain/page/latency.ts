import type { Explanation } from '../../../explain/result.js';
import { roundTime, share, time } from '../../../format/units.js';
import { estimateLatencies } from '../../../statistics/durations.js';
import { formatStatistic } from '../../distribution.js';
import { type Bin, buildLogBins } from '../../histogram.js';
import { type ChartMark, renderChart, toPixels } from '../../html/chart.js';
import { html, type Markup } from '../../html/markup.js';
import {
  createLinearScale,
  createLogScale,
  listDecades,
  listMultiples,
  type Scale,
} from '../../html/scale.js';

/** Durations at which the timers of TCP show. */
const TIMER_MARKS: ChartMark[] = [
  { x: 40, label: '40 ms: delayed ACK', color: 'muted' },
  { x: 200, label: '200 ms: sent again', color: 'muted' },
  { x: 1000, label: '1 s: connect again', color: 'muted' },
];

const MAX_BINS = 60;
/** The axis shows more than the data where these lie closer together: a ratio of its ends. */
const MIN_SPAN = 6;

/** How the response times lie, beside the times of TCP's own timers. */
export function renderLatency({ load }: Explanation): Markup | null {
  const { latencyMs, histograms } = load;
  const shown = buildLogBins(estimateLatencies([histograms]), MAX_BINS);
  const [first, last] = [shown[0], shown.at(-1)];
  if (!first || !last) return null;
  const x = createTimeScale(first.fromMs, last.toMs);
  const y = createLinearScale(1.08 * Math.max(...shown.map((bin) => bin.share)));
  return renderChart({
    title: 'Response times',
    caption:
      'Share of the requests by their latency, as asked for. Where a timer of TCP is marked, what piles up waits for it. Logarithmic scale of time.',
    summary: `Response times: median ${formatStatistic(latencyMs, 'p50')}, 99th percentile ${formatStatistic(latencyMs, 'p99')}, greatest ${formatStatistic(latencyMs, 'max')}.`,
    x: { scale: x, ticks: listDecades(x), label: roundTime },
    y: { scale: y, ticks: listMultiples(y), label: share },
    content: shown.filter((bin) => bin.share > 0).map((bin) => drawBin(bin, x, y)),
    marks: TIMER_MARKS,
  });
}

function createTimeScale(lowest: number, highest: number): Scale {
  const missing = Math.max(1.1, Math.sqrt(MIN_SPAN / (highest / lowest)));
  return createLogScale(lowest / missing, highest * missing);
}

/** What is not zero is seen. */
function drawBin({ fromMs, toMs, share: part }: Bin, x: Scale, y: Scale): Markup {
  const [from, to] = [x.at(fromMs), x.at(toMs)];
  const ground = toPixels(y, 0);
  const above = Math.min(toPixels(y, part), ground - 1);
  return html`<rect class="bar" x="${from}%" width="${Number((to - from).toFixed(2))}%" y="${above}" height="${Number((ground - above).toFixed(1))}"><title>${time(fromMs)} to ${time(toMs)}: ${share(part)}</title></rect>`;
}
