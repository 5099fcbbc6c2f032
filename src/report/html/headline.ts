import type { LoadResult } from '../../load/result.js';
import { bytes, cores, count, rate, share, time } from '../units.js';
import { html, type Markup } from './markup.js';

/** The numbers to be seen first. */
export function headline(result: LoadResult): Markup {
  const { throughput, latencyMs, requests, server } = result;
  const failed = requests.statusErrors + requests.transportErrors + requests.timeouts;
  const spread = throughput.stdev === null ? '' : `stdev ${rate(throughput.stdev)}`;
  const tiles = [
    tile('Throughput', rate(throughput.mean), 'req/s', spread),
    tile('Latency p50', ...split(time(latencyMs.p50)), 'half of the requests'),
    tile('Latency p99', ...split(time(latencyMs.p99)), '99 of 100 requests'),
    tile('Latency max', ...split(time(latencyMs.max)), 'the slowest request'),
    tile(
      'Failed',
      ...split(requests.sent > 0 ? share(failed / requests.sent) : '–'),
      `${count(failed)} of ${count(requests.sent)} requests`,
    ),
  ];
  if (server) {
    tiles.push(tile('Server CPU', cores(server.cpuMean), 'cores', 'mean over the run'));
    tiles.push(tile('Server memory', ...split(bytes(server.rssMaxMb * 1e6)), 'at most'));
  }
  return html`<dl class="headline">
${tiles}</dl>`;
}

function tile(name: string, value: string, unit: string, note: string): Markup {
  return html`<div><dt>${name}</dt><dd><strong>${value}</strong> ${unit}<small>${note}</small></dd></div>
`;
}

function split(text: string): [value: string, unit: string] {
  const space = text.lastIndexOf(' ');
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
}
