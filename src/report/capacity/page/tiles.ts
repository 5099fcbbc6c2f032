import type { Search, Sweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import type { Markup } from '../../html/markup.js';
import { split, tile, tiles } from '../../html/tiles.js';
import { between, hasEnd } from '../answer.js';

/** The numbers of throughput over connections to be seen first. */
export function sweepTiles({ best, model }: Sweep): Markup | null {
  if (!best) return null;
  const { maxThroughput, knee, peak, singleMs } = model ?? {};
  const shown = [
    tile('Best level', rate(best.throughput.mean), 'req/s', plural(best.connections, 'connection')),
  ];
  if (maxThroughput) {
    shown.unshift(tile('At most', rate(maxThroughput.value), 'req/s', between(maxThroughput)));
  }
  if (knee) shown.push(tile('Knee', count(knee.value), 'in flight', between(knee, count)));
  if (peak) shown.push(tile('Peak', count(peak.value), 'connections', between(peak, count)));
  if (singleMs) {
    shown.push(tile('Alone', ...split(time(singleMs.value)), between(singleMs, time)));
  }
  return tiles(shown);
}

/** The numbers of a search to be seen first. */
export function searchTiles({ rate: found, confirmed, single, trials }: Search): Markup {
  const held = trials.filter((trial) => trial.held).length;
  const shown = [
    tile('Rates tried', count(trials.length), '', `${count(held)} held the objective`),
    tile('Alone', ...split(time(single.meanMs)), 'mean, one request at a time'),
  ];
  if (found) {
    const { value, low, high } = found;
    const checked = confirmed?.held ? 'held in a longer block' : "the interval's lower end";
    shown.unshift(tile('Plan with', rate(low), 'req/s', checked));
    if (hasEnd(high)) shown.unshift(tile('Holds up to', rate(value), 'req/s', between(found)));
  }
  return tiles(shown);
}
