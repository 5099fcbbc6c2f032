import { bytes, cores, count, rate, share } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { figure } from '../distribution.js';
import type { Markup } from './markup.js';
import { split, tile, tiles } from './tiles.js';

/** The numbers to be seen first. */
export function headline(result: LoadResult): Markup {
  const { throughput, latencyMs, requests, server } = result;
  const failed = requests.statusErrors + requests.transportErrors + requests.timeouts;
  const spread = throughput.stdev === null ? '' : `stdev ${rate(throughput.stdev)}`;
  const shown = [
    tile('Throughput', rate(throughput.mean), 'req/s', spread),
    tile('Latency p50', ...split(figure(latencyMs, 'p50')), 'half of the requests'),
    tile('Latency p99', ...split(figure(latencyMs, 'p99')), '99 of 100 requests'),
    tile('Latency max', ...split(figure(latencyMs, 'max')), 'the slowest request'),
    tile(
      'Failed',
      ...split(requests.sent > 0 ? share(failed / requests.sent) : '–'),
      `${count(failed)} of ${count(requests.sent)} requests`,
    ),
  ];
  if (server) {
    shown.push(tile('Server CPU', cores(server.cpuMean), 'cores', 'mean over the run'));
    shown.push(tile('Server memory', ...split(bytes(server.rssMaxMb * 1e6)), 'at most'));
  }
  return tiles(shown);
}
