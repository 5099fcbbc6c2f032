import { bytes, cores, count, rate, share } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { LoadResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import { countFailed } from '../failed.js';
import { renderIterationTiles } from './iterations.js';
import type { Markup } from './markup.js';
import { renderTile, renderTiles, splitUnit } from './tiles.js';

/** Renders the most important numbers. */
export function renderHeadline(result: LoadResult): Markup {
  const { throughput, latencyMs, requests, server } = result;
  const failed = countFailed(result);
  const spread = throughput.stdev === null ? '' : `stdev ${rate(throughput.stdev)}`;
  const formatLatency = (key: 'p50' | 'p99' | 'max') =>
    hasResponse(result) ? formatStatistic(latencyMs, key, '≥') : '–';
  const throughputTile = renderTile('Throughput', rate(throughput.mean), 'req/s', spread);
  const ofIterations = renderIterationTiles(result);
  const ofRequests = [
    renderTile('Latency p50', ...splitUnit(formatLatency('p50')), 'half of the requests'),
    renderTile('Latency p99', ...splitUnit(formatLatency('p99')), '99 of 100 requests'),
    renderTile('Latency max', ...splitUnit(formatLatency('max')), 'the slowest request'),
    renderTile(
      'Failed',
      ...splitUnit(requests.sent > 0 ? share(failed / requests.sent) : '–'),
      `${count(failed)} of ${count(requests.sent)} requests`,
    ),
  ];
  const tiles =
    ofIterations.length > 0 ? [...ofIterations, throughputTile] : [throughputTile, ...ofRequests];
  if (server) {
    tiles.push(renderTile('Server CPU', cores(server.cpuMean), 'cores', 'mean over the run'));
    tiles.push(renderTile('Server memory', ...splitUnit(bytes(server.rssMaxMb * 1e6)), 'at most'));
  }
  return renderTiles(tiles);
}
