import { bytes, rate, share } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import {
  buildLoopEvidence,
  computeGarbageShare,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import {
  computeDominantGain,
  computeGain,
  type Detected,
  type Hypothesis,
  MIN_DOMINANT_SHARE,
  scale,
} from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const LOGGING = {
  id: 'logging',
  group: 'CPU',
  text: {
    title: 'Writing logs',
    what: 'Each request writes log lines, and if the output is a file or a terminal Node.js waits for each write.',
    shows:
      "Writes to stdout, stderr and files, or a logger that buffers its lines, take a good part of the loop's time.",
    experiment:
      "'output discarded' discards output to stdout and stderr: throughput rises by the cost of the writes.",
    formula:
      'gain = 1 / (1 - share of the time writing), plus that of formatting, which is not measured',
    remedy: 'Log less, or to an asynchronous destination: a pipe, a worker thread.',
    detected: 'by experiment',
    note: "Needs the probe. By its signature if the logger buffers its lines: the profile measures the logger's time.",
  },
  detectors: [detectLogging],
  remedyExperiments: [
    // The lines are still formatted.
    { experiment: 'output-discarded', isPartial: true },
  ],
  savesLoopTime: true,
} satisfies Limit;

/** Cost of a write including its stream, as a multiple of the write alone, which is measured. */
const STREAM_COST_FACTOR = 3;

/** Cost of logging including formatting, as a multiple of the write alone, which is measured. */
const FORMATTING_COST_FACTOR = 2.5;

function detectLogging(metrics: Metrics): Detected {
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
}

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
