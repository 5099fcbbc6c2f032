import type { CapacitySearch, CapacitySweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import { renderTile, renderTiles, splitUnit } from '../../html/tiles.js';
import { formatInterval, hasUpperEnd } from '../answer.js';

/** Renders the most important numbers of throughput over connections. */
export function renderSweepTiles({ best, model }: CapacitySweep): Markup | null {
  if (!best) return null;
  const { maxThroughput, knee, peak, singleMs } = model ?? {};
  const tiles = [
    renderTile(
      'Best level',
      rate(best.throughput.mean),
      'req/s',
      plural(best.connections, 'connection'),
    ),
  ];
  if (maxThroughput) {
    tiles.unshift(
      renderTile('At most', rate(maxThroughput.value), 'req/s', formatInterval(maxThroughput)),
    );
  }
  if (knee)
    tiles.push(renderTile('Knee', count(knee.value), 'in flight', formatInterval(knee, count)));
  if (peak)
    tiles.push(renderTile('Peak', count(peak.value), 'connections', formatInterval(peak, count)));
  if (singleMs) {
    tiles.push(
      renderTile(
        'Single request',
        ...splitUnit(time(singleMs.value)),
        formatInterval(singleMs, time),
      ),
    );
  }
  return renderTiles(tiles);
}

/** Renders the most important numbers of a search. */
export function renderSearchTiles({
  rate: found,
  confirmed,
  single,
  trials,
}: CapacitySearch): Markup {
  const heldCount = trials.filter((trial) => trial.held).length;
  const tiles = [
    renderTile('Rates tried', count(trials.length), '', `${count(heldCount)} held the objective`),
    renderTile('Single request', ...splitUnit(time(single.meanMs)), 'mean, one at a time'),
  ];
  if (found) {
    const { value, low, high } = found;
    const checked = confirmed?.held ? 'held in a longer block' : 'the lower end of the interval';
    tiles.unshift(renderTile('Plan with', rate(low), 'req/s', checked));
    if (hasUpperEnd(high))
      tiles.unshift(renderTile('Holds up to', rate(value), 'req/s', formatInterval(found)));
  }
  return renderTiles(tiles);
}
