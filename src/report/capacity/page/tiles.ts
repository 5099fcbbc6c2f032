import type { Search, Sweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import { renderTile, renderTiles, splitUnit } from '../../html/tiles.js';
import { formatInterval, hasUpperEnd } from '../answer.js';

/** Renders the most important numbers of throughput over connections. */
export function renderSweepTiles({ best, model }: Sweep): Markup | null {
  if (!best) return null;
  const { maxThroughput, knee, peak, singleMs } = model ?? {};
  const shown = [
    renderTile(
      'Best level',
      rate(best.throughput.mean),
      'req/s',
      plural(best.connections, 'connection'),
    ),
  ];
  if (maxThroughput) {
    shown.unshift(
      renderTile('At most', rate(maxThroughput.value), 'req/s', formatInterval(maxThroughput)),
    );
  }
  if (knee)
    shown.push(renderTile('Knee', count(knee.value), 'in flight', formatInterval(knee, count)));
  if (peak)
    shown.push(renderTile('Peak', count(peak.value), 'connections', formatInterval(peak, count)));
  if (singleMs) {
    shown.push(
      renderTile(
        'Single request',
        ...splitUnit(time(singleMs.value)),
        formatInterval(singleMs, time),
      ),
    );
  }
  return renderTiles(shown);
}

/** Renders the most important numbers of a search. */
export function renderSearchTiles({ rate: found, confirmed, single, trials }: Search): Markup {
  const held = trials.filter((trial) => trial.held).length;
  const shown = [
    renderTile('Rates tried', count(trials.length), '', `${count(held)} held the objective`),
    renderTile('Single request', ...splitUnit(time(single.meanMs)), 'mean, one at a time'),
  ];
  if (found) {
    const { value, low, high } = found;
    const checked = confirmed?.held ? 'held in a longer block' : 'the lower end of the interval';
    shown.unshift(renderTile('Plan with', rate(low), 'req/s', checked));
    if (hasUpperEnd(high))
      shown.unshift(renderTile('Holds up to', rate(value), 'req/s', formatInterval(found)));
  }
  return renderTiles(shown);
}
