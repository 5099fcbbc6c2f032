import { bytes, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import {
  computeDominantGain,
  computeGain,
  type Detector,
  type Hypothesis,
  MIN_DOMINANT_SHARE,
  scale,
} from '../hypothesis.js';
import { UNBOUNDED_GAIN } from '../machine/threadpool.js';
import { predictBusyLoop } from './loop.js';
import { buildLoopEvidence, computeGarbageShare, SATURATED } from './loop-capacity.js';

/** Cost of a write including its stream, as a multiple of the write alone, which is measured. */
const STREAM_COST_FACTOR = 3;
/** Cost of logging including formatting, as a multiple of the write alone, which is measured. */
const FORMATTING_COST_FACTOR = 2.5;

export const detectLogging: Detector = (metrics) => {
  const limit = 'logging';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const part = inside.output.share / Math.max(0.05, metrics.loop.busy);
  const each = inside.output.writes / Math.max(1, metrics.throughput);
  const printing = metrics.loopTime?.logging ?? 0;
  if (
    metrics.loop.busy < SATURATED ||
    ((part < 0.06 || each < 0.2) && printing < MIN_LOGGING_SHARE)
  ) {
    return {
      limit,
      why: `writing output takes ${share(Math.max(part, printing))} of the loop's time`,
    };
  }
  if (part < 0.06 || each < 0.2) return describeBufferedLog(metrics, printing);
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: Math.min(0.95, 0.5 + part * 1.2),
    sentence: `logging: ${each.toFixed(1)} writes of ${bytes(inside.output.bytes / Math.max(1, inside.output.writes))} per request take ${share(part)} of the loop's time, not counting their formatting.`,
    arithmetic: [
      `${rate(inside.output.writes)} writes per second take ${share(inside.output.share)} of the time`,
    ],
    evidence: [
      { what: 'writing output', value: inside.output.share, unit: '1', source: 'probe' },
      { what: 'writes per request', value: each, unit: 'per request', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'output-discarded': computeGain(part, 0.6, STREAM_COST_FACTOR),
    },
    remedy: {
      change: 'log less, or log to an asynchronous destination (a pipe, a worker thread)',
      predictedThroughput: scale(predictWithoutLog(metrics, part), metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** Minimum share of the loop's time in a logger at which logging is a limit. */
const MIN_LOGGING_SHARE = 0.15;

/** Describes a logger that formats lines per request and writes them later from a buffer. */
function describeBufferedLog(metrics: Metrics, part: number): Hypothesis {
  return {
    limit: 'logging',
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(0.95, 0.3 + part * 1.2),
    sentence: `logging: a logger takes ${share(part)} of the loop's time; it buffers its lines and writes them later.`,
    arithmetic: [
      `without it: ${rate(metrics.throughput)} req/s / (1 - ${share(part)}) = ${rate(metrics.throughput / (1 - Math.min(0.95, part)))} req/s`,
    ],
    evidence: [
      { what: 'time in the logger', value: part, unit: '1', source: 'profile' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: predictBusyLoop(metrics),
    remedy: {
      change: 'log less per request: check the log level before building the message',
      predictedThroughput: scale(predictWithoutBufferedLog(metrics, part), metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** Predicts the gain without a logger that takes a share of the time, and whose lines are garbage later. */
function predictWithoutBufferedLog(metrics: Metrics, part: number): Interval {
  const { low, high } = computeGain(part, 0.9, 1.4);
  const garbage = computeGarbageShare(metrics);
  if (part + garbage < MIN_DOMINANT_SHARE) return { low, high };
  return { low, high: Math.max(high, computeDominantGain(part, garbage).high) };
}

/** Predicts the gain without logging. A profile includes formatting; without one only the writes are measured. */
function predictWithoutLog(metrics: Metrics, part: number): Interval {
  const { loopTime } = metrics;
  const printing = loopTime?.logging ?? 0;
  const { low, high } =
    printing > part
      ? computeGain(printing, 0.9, 1.2)
      : computeGain(part, 0.8, FORMATTING_COST_FACTOR);
  const all = loopTime?.maxLogging ?? 0;
  const without =
    all < MIN_DOMINANT_SHARE
      ? computeGain(all, 0, 1)
      : computeDominantGain(all, computeGarbageShare(metrics) * all);
  return { low, high: Math.max(high, without.high) };
}

/** Bytes of text compressed per millisecond: at the highest level, and at a fast one. */
const BYTES_PER_MS: Record<string, Interval> = {
  gzip: { low: 8_000, high: 120_000 },
  deflate: { low: 8_000, high: 120_000 },
  br: { low: 400, high: 100_000 },
  zstd: { low: 2_000, high: 500_000 },
};
const UNKNOWN_CODING: Interval = { low: 400, high: 500_000 };
/** Maximum ratio of a coding's fast to slow speed at which its range is a usable prediction. */
const MAX_LEVEL_RATIO = 50;
/** Minimum gain without work that takes most of the time. */
const MIN_DOMINANT_GAIN = 1.6;
/** Maximum share of a request's CPU time that is attributed to compression. */
const MAX_CPU_SHARE = 0.99;

export const detectCompression: Detector = (metrics) => {
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
  const gain = busy
    ? { low: isWide ? Math.max(MIN_DOMINANT_GAIN, minGain) : minGain, high: 1 / (1 - part.high) }
    : { low: Math.max(MIN_DOMINANT_GAIN, minGain), high: UNBOUNDED_GAIN };
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
};
