import { bytes, rate, share } from '../../../format/units.js';
import { type Detected, type Hypothesis, widen } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const BANDWIDTH = {
  id: 'bandwidth',
  group: 'machine',
  text: {
    title: 'The network link is full',
    what: 'The bytes of the responses fill the link.',
    shows:
      'The busiest network interface is near its speed; or on most connections the server has sent bytes that have not arrived, though the client reads at once.',
    experiment:
      "None of its own. 'connections x2' yields nothing, and the short responses for an 'path not found' arrive faster.",
    formula: 'throughput = speed of the link / bytes per response',
    remedy: 'Fewer bytes (compression, caching), or a faster link.',
    confirm:
      'halve the bytes of a response (compression, a shorter page): throughput rises up to twice',
    detected: 'by its signature',
    note: 'Bytes in transit are measured only if the server is on this machine.',
  },
  detectors: [detectBandwidth],
} satisfies Limit;

/**
 * Finds bytes in transit: on most connections the server has sent bytes that a client which reads at once has not got.
 */
function findBytesInTransit({ base, loop, sockets, maxConcurrency }: Metrics): Hypothesis | null {
  const { bytes: moved, durationMs, requests, plan } = base.load;
  const each = moved.received / Math.max(1, requests.ok + requests.statusErrors);
  if (!sockets || sockets.samples < 3 || each < MIN_LARGE_BYTES || maxConcurrency < 2) return null;
  const waits = sockets.server.unsent > 0.6 && sockets.client.unread < 0.2;
  if (!waits || (loop && loop.busy > 0.7) || base.load.generator.busy > 0.7) return null;
  const perSecond = (moved.received * 1000) / durationMs;
  return {
    limit: 'bandwidth',
    weight: 0.85,
    sentence: `the network: ${share(sockets.server.unsent)} of the connections have bytes in transit, sent but not arrived; the network delivers ${bytes(perSecond)} per second.`,
    arithmetic: [
      `${bytes(perSecond)} per second / ${bytes(each)} per response = ${rate(perSecond / each)} responses per second`,
      `the client reads at once: only ${share(sockets.client.unread)} of its connections contain bytes that it has not read`,
    ],
    evidence: [
      {
        what: 'connections with bytes in transit',
        value: sockets.server.unsent,
        unit: '1',
        source: 'sockets',
      },
      { what: 'bytes per response', value: each, unit: 'B', source: 'load' },
    ],
    unlisted: 'unchanged',
    predictions: {
      'connections-x2': widen(1, 0.12),
      'connections-half': { low: plan.connections > 3 ? 0.7 : 0.45, high: 1.1 },
      'not-found-path': { low: 1.3, high: 1000 },
    },
    remedy: {
      change: 'fewer bytes (compression, caching), or a faster link',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

function detectBandwidth(metrics: Metrics): Detected {
  const limit = 'bandwidth';
  const { base } = metrics;
  const link = base.outside?.linkShare ?? null;
  const full = findBytesInTransit(metrics);
  if (full && (link === null || link < 0.85)) return full;
  if (link === null) return null;
  if (link < 0.85)
    return { limit, why: `the busiest network interface carries ${share(link)} of its speed` };
  return {
    limit,
    weight: 0.95,
    sentence: `the network: its link carries ${share(link)} of its speed.`,
    arithmetic: metrics.isWatched
      ? []
      : [
          `the client receives ${rate(base.load.bytes.received / (base.load.durationMs / 1000))} bytes per second`,
        ],
    evidence: [{ what: 'link in use', value: link, unit: '1', source: 'proc' }],
    unlisted: 'unchanged',
    predictions: { 'connections-x2': widen(1, 0.1) },
    remedy: {
      change: 'fewer bytes (compression, caching), or a faster link',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

/** Minimum size of a response in bytes at which its transfer may take longer than its processing. */
const MIN_LARGE_BYTES = 8192;
