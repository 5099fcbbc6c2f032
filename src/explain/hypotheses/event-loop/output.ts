import { bytes, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import { listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { computeGain, type Detector, type Hypothesis, scale } from '../hypothesis.js';
import { UNBOUNDED_GAIN } from '../machine/threadpool.js';
import { predictBusyLoop } from './loop.js';
import { buildLoopEvidence, SATURATED } from './loop-capacity.js';

/** What a write costs with the stream that it goes through, which goes with it: of the write alone, which is measured. */
const STREAM_COST_FACTOR = 3;
/** What logging costs beside the write itself, which alone is measured: formatting. */
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
    sentence: `logging: ${each.toFixed(1)} writes of ${bytes(inside.output.bytes / Math.max(1, inside.output.writes))} per request take ${share(part)} of the loop's time, before formatting them is counted.`,
    arithmetic: [
      `${rate(inside.output.writes)} writes a second hold the loop ${share(inside.output.share)} of the time`,
    ],
    evidence: [
      { what: 'writing output', value: inside.output.share, unit: '1', source: 'probe' },
      { what: 'writes per request', value: each, unit: 'per request', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: {
      ...predictBusyLoop(metrics),
      'output muted': computeGain(part, 0.6, STREAM_COST_FACTOR),
    },
    remedy: {
      change: 'log less, or through an asynchronous destination (a pipe, a worker thread)',
      predictedThroughput: scale(predictWithoutLog(metrics, part), metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** Part of the loop's time in a logger from which on it matters. */
const MIN_LOGGING_SHARE = 0.15;

/** A log that is formatted for each request, and written from a queue. */
function describeBufferedLog(metrics: Metrics, part: number): Hypothesis {
  return {
    limit: 'logging',
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(0.95, 0.3 + part * 1.2),
    sentence: `logging: a logger takes ${share(part)} of the loop's time, though it writes later.`,
    arithmetic: [
      `without it: ${rate(metrics.throughput)} req/s / (1 - ${share(part)}) = ${rate(metrics.throughput / (1 - Math.min(0.95, part)))} req/s`,
    ],
    evidence: [
      { what: 'in the logger', value: part, unit: '1', source: 'profile' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change: 'log less for each request: ask for the level before what is logged is made',
      predictedThroughput: scale(computeGain(part, 0.9, 1.4), metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** The gain without a log: a profile knows what those format who write it; without one only their writing is known. */
function predictWithoutLog({ loopTime }: Metrics, part: number): Range {
  const printing = loopTime?.logging ?? 0;
  const { low, high } =
    printing > part
      ? computeGain(printing, 0.9, 1.2)
      : computeGain(part, 0.8, FORMATTING_COST_FACTOR);
  return { low, high: Math.max(high, computeGain(loopTime?.maxLogging ?? 0, 0, 1).high) };
}

/** Bytes of text that are compressed in a millisecond: at the highest level, and at a fast one. */
const BYTES_PER_MS: Record<string, Range> = {
  gzip: { low: 8_000, high: 120_000 },
  deflate: { low: 8_000, high: 120_000 },
  br: { low: 400, high: 100_000 },
  zstd: { low: 2_000, high: 500_000 },
};
const UNKNOWN_CODING: Range = { low: 400, high: 500_000 };
/** From its highest level to a fast one, from which on a mean says nothing. */
const MAX_LEVEL_RATIO = 50;
/** What is given at the least without what mostly is done. */
const MIN_DOMINANT_GAIN = 1.6;
/** The most of a request's CPU that compression is taken for: of the rest nothing is known. */
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
  if (!busy && pool < 0.5)
    return { limit, why: `the server uses ${server.toFixed(2)} cores in all` };
  const body = metrics.identityBytes ?? metrics.sample.bodyBytes * 4;
  const speed = BYTES_PER_MS[encoding] ?? UNKNOWN_CODING;
  const cost = { low: body / speed.high, high: body / speed.low };
  const cpuMs = (server * 1000) / Math.max(1, metrics.throughput);
  const part = {
    low: Math.min(0.8, cost.low / cpuMs),
    high: Math.min(MAX_CPU_SHARE, cost.high / cpuMs),
  };
  if (part.high < 0.12) {
    return { limit, why: `compressing ${bytes(body)} is little beside ${time(cpuMs)} per request` };
  }
  const least = 1 / (1 - part.low * 0.8);
  // A coding whose levels differ so much is the cause by its highest ones, or none.
  const isWide = speed.high > MAX_LEVEL_RATIO * speed.low;
  // Threads beside the loop have to do it for the most part, and may do nothing else.
  const gain = busy
    ? { low: isWide ? Math.max(MIN_DOMINANT_GAIN, least) : least, high: 1 / (1 - part.high) }
    : { low: Math.max(MIN_DOMINANT_GAIN, least), high: UNBOUNDED_GAIN };
  return {
    limit,
    causeOf: busy ? 'event-loop-cpu' : 'threadpool',
    weight: Math.min(0.94, 0.6 + part.low),
    sentence: `compression: each response of ${bytes(body)} is compressed (${encoding}) to ${bytes(metrics.sample.bodyBytes)}.`,
    arithmetic: [
      `${bytes(body)} at the speed of ${encoding}, by its level: ${time(cost.low)} to ${time(cost.high)} of ${time(cpuMs)} CPU per request`,
    ],
    evidence: [
      { what: 'CPU per response, all threads', value: cpuMs, unit: 'ms', source: 'proc' },
      { what: 'body before compression', value: body, unit: 'B', source: 'http' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      ...(metrics.identityBytes !== null && { 'identity encoding': gain }),
    },
    remedy: {
      change: `compress once and keep the result, a lower level${encoding === 'br' ? ' (BROTLI_PARAM_QUALITY 4 or 5: zlib takes 11 if it is not told)' : ''}, or let a proxy do it`,
      predictedThroughput: busy ? scale(gain, metrics.throughput) : null,
      nextLimit: 'event-loop-cpu',
    },
  };
};
