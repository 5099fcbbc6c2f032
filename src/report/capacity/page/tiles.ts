import type { CapacitySearch, CapacitySweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import { renderTile, renderTiles, splitUnit } from '../../html/tiles.js';
import { formatInterval, hasUpperEnd } from '../answer.js';
import { chooseWords } from '../words.js';

/** Renders the most important numbers of throughput over connections. */
export function renderSweepTiles(sweep: CapacitySweep): Markup | null {
  const { best, model } = sweep;
  const { perSecond, noun, place } = chooseWords(sweep);
  if (!best) return null;
  const { maxThroughput, knee, peak, singleMs } = model ?? {};
  const tiles = [
    renderTile(
      'Best level',
      rate(best.throughput.mean),
      perSecond,
      plural(best.connections, place),
    ),
  ];
  if (maxThroughput) {
    tiles.unshift(
      renderTile('At most', rate(maxThroughput.value), perSecond, formatInterval(maxThroughput)),
    );
  }
  if (knee)
    tiles.push(
      renderTile(
        'Knee',
        count(knee.value),
        noun === 'request' ? 'in flight' : 'at a time',
        formatInterval(knee, count),
      ),
    );
  if (peak)
    tiles.push(renderTile('Peak', count(peak.value), `${place}s`, formatInterval(peak, count)));
  if (singleMs) {
    tiles.push(
      renderTile(
        `Single ${noun}`,
        ...splitUnit(time(singleMs.value)),
        formatInterval(singleMs, time),
      ),
    );
  }
  return renderTiles(tiles);
}

/** Renders the most important numbers of a search. */
export function renderSearchTiles(search: CapacitySearch): Markup {
  const { rate: found, confirmed, single, trials } = search;
  const { perSecond, noun } = chooseWords(search);
  const heldCount = trials.filter((trial) => trial.held).length;
  const tiles = [
    renderTile('Rates tried', count(trials.length), '', `${count(heldCount)} held the objective`),
    renderTile(`Single ${noun}`, ...splitUnit(time(single.meanMs)), 'mean, one at a time'),
  ];
  if (found) {
    const { value, low, high } = found;
    const checked = confirmed?.held ? 'held in a longer block' : 'the lower end of the interval';
    tiles.unshift(renderTile('Plan with', rate(low), perSecond, checked));
    if (hasUpperEnd(high))
      tiles.unshift(renderTile('Holds up to', rate(value), perSecond, formatInterval(found)));
  }
  return renderTiles(tiles);
}
