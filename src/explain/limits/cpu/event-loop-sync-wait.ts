import { share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import {
  buildLoopEvidence,
  estimateWarmLimit,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, UNBOUNDED_GAIN, widen } from '../../hypotheses/hypothesis.js';
import { isThrottled } from '../../hypotheses/machine/cores.js';
import { estimateGeneratorCores } from '../../hypotheses/machine/generator-cores.js';
import { readPoolSize } from '../../hypotheses/machine/pool-size.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const EVENT_LOOP_SYNC_WAIT = {
  id: 'event-loop-sync-wait',
  group: 'CPU',
  text: {
    title: 'The event loop waits in synchronous calls',
    what: 'A synchronous call (fs.readFileSync, execSync, Atomics.wait) blocks the loop while it waits for something else, without using CPU time.',
    shows:
      "The loop reports that it is busy, but its thread is neither on a core nor queued for one, and the machine's host has not taken its core.",
    experiment: 'None of its own: it would require another implementation of the call.',
    formula: 'time waited = busy - on a core - queued for a core - stolen by the host',
    remedy: 'The asynchronous form of the call.',
    confirm:
      'replace the synchronous call by its asynchronous form: the loop is no longer busy, and throughput rises',
    detected: 'by its signature',
    note: 'Needs the probe, and Linux. The experiments confirm that the loop is busy; that this limit is the cause is measured, not tried.',
  },
  detectors: [detectEventLoopSyncWait],
  savesLoopTime: true,
  causingFunction: 'most expensive under load',
} satisfies Limit;

/** Computes the throughput at which the CPU time per request, including that of child processes, takes all cores. */
function computeCoreLimit({ base, throughput }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu) return Number.POSITIVE_INFINITY;
  const used = cpu.server + cpu.others + estimateGeneratorCores(cpu, throughput);
  return (throughput * cpu.cores) / Math.max(0.02, used);
}

/** Maximum of the cores that a server uses if it mostly sleeps. */
const MAX_COLD_CORES = 0.3;

/** Maximum of what a core then serves once it is busy, relative to its present cost, and of one that works now. */
const [MAX_WARM_GAIN, MAX_BUSY_GAIN] = [3, 1.3];

/**
 * Predicts throughput when the loop no longer waits: bounded by its CPU time and the requests in flight, and for calls
 * of `node:fs` by the thread pool, which runs them then.
 */
function predictWithoutWaiting(metrics: Metrics, part: number): Interval {
  const { loop, maxConcurrency, throughput, loopTime } = metrics;
  const eachMs = Math.max(0.001, loop?.busyMs ?? 0);
  const warm = estimateWarmLimit(metrics);
  const inFlight = (maxConcurrency * 1000) / eachMs;
  const byPool = (readPoolSize(metrics) * 1000) / (eachMs * part);
  const byCores = computeCoreLimit(metrics);
  // Cores that mostly sleep take more time per request than busy ones, as a loop does.
  const isCold = (metrics.base.outside?.cpu.server ?? 1) < MAX_COLD_CORES;
  const maxPerCore = isCold ? MAX_WARM_GAIN : MAX_BUSY_GAIN;
  const maxThroughput = Math.max(
    throughput,
    Math.min(warm?.high ?? Number.POSITIVE_INFINITY, inFlight, maxPerCore * byCores),
  );
  if (loopTime === null)
    return {
      low: Math.max(throughput, Math.min(maxThroughput, byPool) * 0.9),
      high: maxThroughput,
    };
  if (loopTime.files > 0.5 * part)
    return widen(Math.max(throughput, Math.min(maxThroughput, byPool)), 0.1);
  const minThroughput = Math.min(
    warm?.low ?? Number.POSITIVE_INFINITY,
    0.9 * inFlight,
    0.9 * byCores,
  );
  return { low: Math.max(throughput, minThroughput), high: maxThroughput };
}

/**
 * Predicts throughput without the calls: at least that of the rest of the loop's time. A part of that belongs to the
 * calls as well, so that only what a server can serve that does nothing is an upper bound.
 */
function predictWithoutCall({ throughput }: Metrics, part: number): Interval {
  return { low: throughput / (1 - Math.min(0.98, part)), high: UNBOUNDED_GAIN * throughput };
}

function detectEventLoopSyncWait(metrics: Metrics): Detected {
  const { loop, throughput } = metrics;
  const limit = 'event-loop-sync-wait';
  if (!loop?.isFromProbe) return null;
  if (metrics.base.outside && isThrottled(metrics.base.outside)) {
    return { limit, why: 'the CPU quota stops the process' };
  }
  if (!metrics.base.outside?.hasRunQueueTimes) return null;
  // How steal is spread over threads is unknown: this thread may have lost twice its estimated part.
  const steal = metrics.machine?.cpu.steal ?? metrics.base.outside.cpu.steal;
  const further = Math.min(loop.stolen, Math.max(0, steal - loop.stolen));
  const surely = loop.waiting - further;
  if (surely < 0.15 || surely < 0.25 * loop.busy) {
    const taken = further > 0.01 ? `, of which the host may have taken ${share(further)}` : '';
    return {
      limit,
      why: `the loop is busy without a core ${share(loop.waiting)} of the time${taken}`,
    };
  }
  const part = loop.waiting / loop.busy;
  return {
    limit,
    weight: Math.min(1, 0.5 + part),
    sentence: `the event loop waits in synchronous calls: it is busy ${share(loop.busy)} of the time, but on a core only ${share(loop.run)}.`,
    arithmetic: [
      `busy ${share(loop.busy)} - on a core ${share(loop.run)} - queued for one ${share(loop.queued)}${loop.stolen > 0.01 ? ` - taken by the machine's host ${share(loop.stolen)}` : ''} = ${share(loop.waiting)} of the time waiting in a synchronous call`,
      `${time((loop.waiting * 1000) / throughput)} of that per request`,
    ],
    evidence: [
      ...buildLoopEvidence(metrics),
      { what: 'loop busy without a core', value: loop.waiting, unit: '1', source: 'probe, proc' },
    ],
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'the asynchronous form of the call (fs.promises, execFile, await instead of ...Sync); where each request starts a process, one long-lived process',
      predictedThroughput: predictWithoutWaiting(metrics, part),
      nextLimit: 'event-loop-cpu',
      ...(loop.busy >= SATURATED && {
        alternatives: [
          {
            change:
              'no such call in a request: its result is kept for a while, or comes beforehand',
            predictedThroughput: predictWithoutCall(metrics, part),
          },
        ],
      }),
    },
  };
}
