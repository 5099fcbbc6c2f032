import { bytes, rate, share, time } from '../../../format/units.js';
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
  MIN_DOMINANT_SHARE,
  scale,
  UNBOUNDED_GAIN,
} from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const SYNCHRONOUS_WRITES = {
  id: 'synchronous-writes',
  group: 'CPU',
  text: {
    title: 'Synchronous writes and flushes',
    what: 'Requests write to files with calls that wait (writeFileSync, appendFileSync, writeSync), or flush them to disk (fsyncSync). The loop serves nothing meanwhile. The cost may depend on how much was written before, if the whole state is written each time.',
    shows:
      "Such calls take a good part of the loop's time. The loop may be on a core meanwhile (large writes) or not (flushes).",
    experiment:
      "'file writes in memory' restarts the server with empty files in memory in place of those that it writes: throughput rises by the cost of the disk and of what was written before. 'restart' restarts it with its files: the cost stays, unlike that of ageing (degrades-over-time).",
    formula: 'gain = 1 / (1 - share of the time in these calls)',
    remedy:
      'Append instead of rewriting, write asynchronously, and write and flush for many requests at once.',
    detected: 'by experiment',
    note: "Needs the probe; 'file writes in memory' needs a server that millrace started. Output to stdout and stderr is logging.",
  },
  detectors: [detectSynchronousWrites],
  remedyExperiments: [
    // The calls remain, and the memory that they write to is no disk.
    { experiment: 'file-writes-in-memory', isPartial: true },
  ],
  savesLoopTime: true,
} satisfies Limit;

/** Minimum share of the loop's busy time in synchronous writes at which they are a limit. */
const MIN_SHARE = 0.15;

/** Minimum of the writes and flushes per request: fewer are not made by requests. */
const MIN_PER_REQUEST = 0.05;

/** Minimum share of the busy time without a core at which the calls wait rather than compute. */
const MIN_WAITING_SHARE = 0.3;

/** Size from which on a write is probably that of a whole state. */
const LARGE_WRITE_BYTES = 16_384;

/** Detects a loop that is busy with writing files and flushing them, in calls that wait for it. */
function detectSynchronousWrites(metrics: Metrics): Detected {
  const limit = 'synchronous-writes';
  const { base, loop, throughput } = metrics;
  const files = base.inside?.files;
  if (!files || !loop) return null;
  const part = Math.min(0.98, files.share / Math.max(0.05, loop.busy));
  const calls = (files.writes + files.flushes) / Math.max(1, throughput);
  if (part < MIN_SHARE || calls < MIN_PER_REQUEST || loop.busy < SATURATED) {
    return { limit, why: `synchronous writes to files take ${share(part)} of the loop's time` };
  }
  const isWaiting = loop.waiting >= MIN_WAITING_SHARE * loop.busy;
  const eachMs = (files.share * 1000) / throughput;
  const size = files.bytes / Math.max(1, files.writes);
  return {
    limit,
    causeOf: isWaiting ? 'event-loop-sync-wait' : 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(0.98, 0.55 + part),
    sentence: `synchronous writes: ${describeCalls(files, throughput)} per request take ${share(part)} of the loop's time, which serves nothing meanwhile.`,
    arithmetic: [
      `${rate(files.writes + files.flushes)} calls per second take ${time(eachMs)} of ${time(loop.busyMs)} per request`,
      `without them: ${rate(throughput)} req/s / (1 - ${share(part)}) = at most ${rate(throughput / (1 - part))} req/s`,
    ],
    evidence: [
      { what: 'time in synchronous writes', value: files.share, unit: '1', source: 'probe' },
      { what: 'bytes per write', value: size, unit: 'B', source: 'probe' },
      { what: 'flushes', value: files.flushes, unit: '1/s', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      // Files in memory have no disk to wait for; the call itself remains. Without what was written before there is also
      // less to put together for each write, which is unknown.
      'file-writes-in-memory': { low: computeGain(part, 0.15, 1).low, high: UNBOUNDED_GAIN },
      // A restart keeps the files, and with them the cost.
      restart: { low: 0.75, high: 1.35 },
    },
    remedy: {
      change: describeRemedy(files.flushes, size),
      predictedThroughput: scale(predictWithoutWrites(metrics, files, part), throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}

/** Predicts the gain without the writes; where each writes a whole state, also without what puts that together. */
function predictWithoutWrites(metrics: Metrics, files: Files, part: number): Interval {
  // Flushes off the loop still take the disk, and a core for a part of their time.
  const { low, high } = computeGain(part, files.flushes > 0 ? 0.65 : 0.8, 1.05);
  const isWhole = files.bytes >= LARGE_WRITE_BYTES * files.writes;
  if (!isWhole || part < MIN_DOMINANT_SHARE) return { low, high };
  return {
    low,
    high: Math.max(high, computeDominantGain(part, computeGarbageShare(metrics)).high),
  };
}

type Files = NonNullable<Metrics['base']['inside']>['files'];

function describeCalls({ writes, bytes: written, flushes }: Files, throughput: number): string {
  const perRequest = (count: number) => (count / throughput).toFixed(1);
  const parts = [
    writes > 0 ? `${perRequest(writes)} writes of ${bytes(written / writes)}` : '',
    flushes > 0 ? `${perRequest(flushes)} flushes (fsync)` : '',
  ];
  return parts.filter(Boolean).join(' and ');
}

function describeRemedy(flushes: number, size: number): string {
  const parts = [
    size >= LARGE_WRITE_BYTES
      ? `write less at a time (each write has ${bytes(size)}): append what is new instead of rewriting the file`
      : 'collect what several requests write, and write it at once',
    'write asynchronously (fs.promises, a stream)',
    flushes > 0 ? 'flush once for many requests (group commit), off the loop' : '',
  ];
  return parts.filter(Boolean).join('; ');
}
