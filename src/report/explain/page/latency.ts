import type { Explanation } from '../../../explain/result.js';
import { roundTime, share, time } from '../../../format/units.js';
import { latencyTimes } from '../../../statistics/times.js';
import { figure } from '../../distribution.js';
import { type Bin, logBins } from '../../histogram.js';
import { chartFigure, type Mark, up } from '../../html/chart.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, linearScale, logScale, multiples, type Scale } from '../../html/scale.js';

/** Times at which the timers of TCP show. */
const ruler: Mark[] = [
  { x: 40, label: '40 ms: delayed ACK', color: 'muted' },
  { x: 200, label: '200 ms: sent again', color: 'muted' },
  { x: 1000, label: '1 s: connect again', color: 'muted' },
];

const bins = 60;
/** The axis shows more than the data where these lie closer together: a ratio of its ends. */
const leastSpan = 6;

/** How the response times lie, beside the times of TCP's own timers. */
export function latencyFigure({ load }: Explanation): Markup | null {
  const { latencyMs, histograms } = load;
  const shown = logBins(latencyTimes([histograms]), bins);
  const [first, last] = [shown[0], shown.at(-1)];
  if (!first || !last) return null;
  const x = spanning(first.fromMs, last.toMs);
  const y = linearScale(1.08 * Math.max(...shown.map((bin) => bin.share)));
  return chartFigure({
    title: 'Response times',
    caption:
      'Share of the requests by their latency, as asked for. Where a timer of TCP is marked, what piles up waits for it. Logarithmic scale of time.',
    summary: `Response times: median ${figure(latencyMs, 'p50')}, 99th percentile ${figure(latencyMs, 'p99')}, greatest ${figure(latencyMs, 'max')}.`,
    x: { scale: x, ticks: decades(x), label: roundTime },
    y: { scale: y, ticks: multiples(y), label: share },
    content: shown.filter((bin) => bin.share > 0).map((bin) => bar(bin, x, y)),
    marks: ruler,
  });
}

function spanning(least: number, most: number): Scale {
  const missing = Math.max(1.1, Math.sqrt(leastSpan / (most / least)));
  return logScale(least / missing, most * missing);
}

/** What is not zero is seen. */
function bar({ fromMs, toMs, share: part }: Bin, x: Scale, y: Scale): Markup {
  const [from, to] = [x.at(fromMs), x.at(toMs)];
  const ground = up(y, 0);
  const above = Math.min(up(y, part), ground - 1);
  return html`<rect class="bar" x="${from}%" width="${Number((to - from).toFixed(2))}%" y="${above}" height="${Number((ground - above).toFixed(1))}"><title>${time(fromMs)} to ${time(toMs)}: ${share(part)}</title></rect>`;
}
