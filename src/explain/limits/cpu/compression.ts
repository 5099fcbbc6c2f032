import { bytes, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, UNBOUNDED_GAIN } from '../../hypotheses/hypothesis.js';
import { listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const COMPRESSION = {
  id: 'compression',
  group: 'CPU',
  text: {
    title: 'Compressing responses',
    what: 'Each response is compressed again, which takes more CPU time than producing it.',
    shows:
      'Responses have a Content-Encoding, and compressing such a body explains how busy the loop or the thread pool is.',
    experiment: "'identity encoding' asks for uncompressed responses: throughput rises.",
    formula: 'gain = CPU time / (CPU time - time to compress)',
    remedy:
      'Compress once and cache the result, use a lower level (Brotli at its default of 11 takes many times as long as at 4), or compress in a proxy.',
    detected: 'by experiment',
  },
  needsOwnLoad: 'a response with its header fields is not seen',
  detectors: [detectCompression],
  remedyExperiments: [{ experiment: 'identity-encoding' }],
} satisfies Limit;

/** Bytes of text compressed per millisecond: at the highest level, and at a fast one. */
const BYTES_PER_MS: Record<string, Interval> = {
  gzip: { low: 8_000, high: 120_000 },
  deflate: { low: 8_000, high: 120_000 },
  br: { low: 400, high: 100_000 },
  zstd: { low: 2_000, high: 500_000 },
};

const UNKNOWN_CODING: Interval = { low: 400, high: 500_000 }; // Source: the extremes of BYTES_PER_MS

/** Maximum ratio of a coding's fast to slow speed at which its range is a usable prediction. */
const MAX_LEVEL_RATIO = 50;

/** Minimum gain without work that takes most of the time. */
const MIN_DOMINANT_GAIN = 1.6;

/** Maximum share of a request's CPU time that is attributed to compression. */
const MAX_CPU_SHARE = 0.99;

function detectCompression(metrics: Metrics): Detected {
  const limit = 'compression';
  const encoding = metrics.sample?.headers['content-encoding'];
  if (!metrics.sample) return null;
  if (encoding === undefined || encoding === 'identity') {
    return { limit, why: 'the responses are not compressed' };
  }
  const server = metrics.base.outside?.cpu.server ?? 0;
  const pool = listOtherThreads(metrics.base).reduce((sum, { run }) => sum + run, 0);
  const busy = metrics.loop && metrics.loop.busy >= SATURATED;
  if (!busy && pool < 0.5) return { limit, why: `the server uses only ${server.toFixed(2)} cores` };
  const body = metrics.identityBytes ?? metrics.sample.bodyBytes * 4;
  const speed = BYTES_PER_MS[encoding] ?? UNKNOWN_CODING;
  const cost = { low: body / speed.high, high: body / speed.low };
  const cpuMs = (server * 1000) / Math.max(1, metrics.throughput);
  const part = {
    low: Math.min(0.8, cost.low / cpuMs),
    high: Math.min(MAX_CPU_SHARE, cost.high / cpuMs),
  };
  if (part.high < 0.12) {
    return {
      limit,
      why: `compressing ${bytes(body)} costs little compared with ${time(cpuMs)} per request`,
    };
  }
  const minGain = 1 / (1 - part.low * 0.8);
  // A coding whose levels differ this much is either the cause, at its highest levels, or irrelevant.
  const isWide = speed.high > MAX_LEVEL_RATIO * speed.low;
  // Compression has to be most of what the pool's threads do, and may be all of it.
  const low = isWide || !busy ? Math.max(MIN_DOMINANT_GAIN, minGain) : minGain;
  const gain = { low, high: busy ? Math.max(low, 1 / (1 - part.high)) : UNBOUNDED_GAIN };
  return {
    limit,
    causeOf: busy ? 'event-loop-cpu' : 'threadpool',
    weight: Math.min(0.94, 0.6 + part.low),
    sentence: `compression: each response of ${bytes(body)} is compressed (${encoding}) to ${bytes(metrics.sample.bodyBytes)}.`,
    arithmetic: [
      `${bytes(body)} at the speed of ${encoding}, which depends on its level: ${time(cost.low)} to ${time(cost.high)} of ${time(cpuMs)} of CPU per request`,
    ],
    evidence: [
      { what: 'CPU per response, all threads', value: cpuMs, unit: 'ms', source: 'proc' },
      { what: 'body before compression', value: body, unit: 'B', source: 'http' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      ...(metrics.identityBytes !== null && { 'identity-encoding': gain }),
    },
    remedy: {
      change:
        encoding === 'br'
          ? 'use a lower level (BROTLI_PARAM_QUALITY 4 or 5; the default of zlib is 11), compress once and cache the result, or compress in a proxy'
          : 'compress once and cache the result (by a key that is known beforehand: a hash of the body takes time too), use a lower level, or compress in a proxy',
      predictedThroughput: busy ? scale(gain, metrics.throughput) : null,
      nextLimit: 'event-loop-cpu',
    },
  };
}
