import { count, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { canHostWithholdCores, findWorkingProcesses } from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import { computeGain, type Detector, type Hypothesis, scale } from '../hypothesis.js';
import { predictAbsorbedDelay } from '../outbound/calls.js';
import { describeSaturatedProgram } from '../outbound/saturated-program.js';
import {
  buildLoopEvidence,
  computeGarbageShare,
  computeInjectedMs,
  deriveLoopLimit,
  SATURATED,
} from './loop-capacity.js';

/** Overhead of injecting work into the loop in ms per request: measured as 1 to 3 µs plus up to a third of the work. */
const INJECTION_OVERHEAD_MS = 0.002;

/** Predicts the experiments for a busy loop: more connections yield nothing, more work per request costs its time. */
export function predictBusyLoop(metrics: Metrics): Hypothesis['predictions'] {
  const { loop, maxConcurrency, unloadedLatencyMs, throughput } = metrics;
  if (!loop) return {};
  // Half of the requests may be too few to keep the loop busy: N / 2 / R of a single request.
  const half = unloadedLatencyMs ? (maxConcurrency * 500) / unloadedLatencyMs / throughput : 0.6;
  const injected = computeInjectedMs(metrics);
  // Background work is not part of a request: it stays as it is, or gives way.
  const own = Math.max(0.05, 1 - (metrics.idleShare ?? 0) / loop.busy);
  const ownBusyMs = own * loop.busyMs;
  // Where the thread waits for a core, added work waits too.
  const stretch = (loop.run + loop.queued + loop.stolen) / Math.max(0.1, loop.run);
  return {
    // More requests per turn mean fewer turns, and a timer runs at most once per turn.
    'connections-x2': {
      low: 0.85,
      high: Math.max(loop.isFromProbe ? MAX_BATCH_GAIN : 1.1, 1.1 / loop.busy, 1 / own),
    },
    'connections-half': {
      low: Math.min(loop.busy > 0.95 ? 0.75 : 0.5, 0.85 * half),
      high: 1.2,
    },
    'cpu-injection': {
      low:
        (0.92 * ownBusyMs) /
        (ownBusyMs + injected * Math.max(1.3, stretch) + INJECTION_OVERHEAD_MS),
      // Idle time is used first.
      high: (1.08 * loop.busyMs) / (loop.busyMs + injected * 0.95) / loop.busy,
    },
    ...predictSecondProcess(metrics),
    ...predictAbsorbedDelay(metrics),
  };
}

/**
 * Maximum gain of a loop that measured itself as busy by more requests per turn: what it does once for all of them (a
 * write of many log lines, a batch of queries, a collection) costs each of them less.
 */
const MAX_BATCH_GAIN = 1.5;

/** Minimum of the cores used by other processes at which they contend with the server. */
const MIN_CONTENDED_CORES = 0.3;

/**
 * Predicts 'second-process': up to twice the throughput, as far as there are cores and the host does not withhold them.
 */
function predictSecondProcess(metrics: Metrics): Hypothesis['predictions'] {
  const { base, machine } = metrics;
  const cpu = base.outside?.cpu;
  const loops = findWorkingProcesses(base);
  if (!cpu || loops.length > 1) return {};
  const twice = (used: number) => Math.min(2, (cpu.cores - cpu.others) / Math.max(0.01, used));
  // Threads other than the loops may need less: generators wake up less often, a parallel collection uses more cores.
  const run = loops.reduce((sum, { main }) => sum + main.run, 0);
  const [gain, maxGain] = [twice(cpu.server + cpu.self), twice(run)];
  // Shared resources other than cores may yield less; two processes get twice the share of contended cores.
  const fair = cpu.others > MIN_CONTENDED_CORES ? 2 : maxGain;
  return {
    'second-process': {
      low: Math.min(
        canHostWithholdCores(machine) ? 0.85 : 1.05,
        0.75 * gain,
        0.95 * computeDemand(metrics),
      ),
      high: Math.max(1.1, 1.08 * maxGain, 1.05 * fair),
    },
  };
}

/** Computes the maximum that the requests in flight ask for, N / (R + Z), as a ratio to the throughput. */
function computeDemand({ unloadedLatencyMs, maxConcurrency, throughput, base }: Metrics): number {
  if (unloadedLatencyMs === null) return Number.POSITIVE_INFINITY;
  return (maxConcurrency * 1000) / (unloadedLatencyMs + base.load.plan.thinkTimeMs) / throughput;
}

export const detectEventLoopCpu: Detector = (metrics) => {
  const { loop, throughput, maxConcurrency } = metrics;
  const limit = 'event-loop-cpu';
  if (!loop) return null;
  // During a collection the thread also waits for the collector's other threads.
  const collecting = Math.min(loop.waiting, computeGarbageShare(metrics) * loop.busy);
  const running = loop.run + loop.queued + loop.stolen + collecting;
  if (running < SATURATED) {
    return { limit, why: `the main thread is on a core ${share(loop.run)} of the time` };
  }
  const taken = loop.queued > loop.run ? describeSaturatedProgram(metrics) : null;
  if (taken) return { limit, why: `the main thread waits for a core, as ${taken}` };
  const loops = findWorkingProcesses(metrics.base).length;
  const maxThroughput = deriveLoopLimit(metrics);
  const cores = metrics.base.outside?.cpu;
  const idle = cores ? Math.floor(cores.idle + 0.3) : 0;
  return {
    limit,
    weight: Math.min(1, 0.7 + (running - SATURATED) * 2),
    sentence: `the event loop${loops > 1 ? `s: ${loops} of them are` : ' is'} ${share(loop.busy)} busy, and each request takes ${time(loop.cpuMs)} of CPU time.`,
    arithmetic: [
      `${loops > 1 ? loops : '1'} / ${time(loop.cpuMs)} = at most ${maxThroughput ? rate(maxThroughput) : '?'} req/s, measured ${rate(throughput)}${describeSteal(loop)}`,
      `${count(maxConcurrency)} in flight / ${rate(throughput)} req/s = ${time((maxConcurrency * 1000) / throughput)} each, measured ${time(metrics.latencyMs)}: more connections only add latency`,
    ],
    evidence: buildLoopEvidence(metrics),
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        idle > 0
          ? `less work per request (see the hot functions), or more processes: ${idle} ${idle === 1 ? 'core is' : 'cores are'} idle`
          : 'less work per request (see the hot functions), or more processes on more cores',
      predictedThroughput:
        idle > 0
          ? {
              low: throughput * (1 + 0.6 * Math.min(idle, loops)),
              high: throughput * (1 + idle / loops),
            }
          : null,
      nextLimit: idle > 0 ? 'event-loop-cpu' : null,
    },
  };
};

/** Describes how much of the loop's time the machine's host takes. */
export function describeSteal({ stolen }: Loop): string {
  return stolen > 0.01
    ? `: the machine's host takes its core ${share(stolen)} of the time (steal)`
    : '';
}

export const detectIdleWork: Detector = (metrics) => {
  const { idleShare, throughput, loop } = metrics;
  const limit = 'idle-work';
  if (idleShare === null) return null;
  if (idleShare < 0.1)
    return { limit, why: `without load the server used ${share(idleShare)} of a core` };
  if (loop && loop.busy < SATURATED) {
    return { limit, why: `the event loop is only ${share(loop.busy)} busy` };
  }
  if (metrics.loopTime?.background === 0) {
    return {
      limit,
      why: 'the work without load takes none of the busiest loop under load',
    };
  }
  return {
    limit,
    ...(loop && loop.busy >= SATURATED && { causeOf: 'event-loop-cpu' as const }),
    weight: Math.min(1, 0.45 + idleShare),
    sentence: `background work: without any request the loop uses ${share(idleShare)} of a core.`,
    arithmetic: [`without it: ${rate(throughput)} req/s / (1 - ${share(idleShare)})`],
    evidence: [{ what: 'CPU without load', value: idleShare, unit: 'cores', source: 'proc' }],
    predictions: loop && loop.busy >= SATURATED ? predictBusyLoop(metrics) : {},
    remedy: {
      change: 'find the timer or scan (the profile shows it) and run it less often',
      predictedThroughput: scale(predictWithoutIdleWork(metrics, idleShare), throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/**
 * Predicts the gain without background work. A timer runs less often in a busy loop than in an idle one: a profile
 * shows how much time it takes there.
 */
function predictWithoutIdleWork(metrics: Metrics, idleShare: number): Interval {
  const unasked = metrics.loopTime?.background ?? null;
  const { low, high } =
    unasked === null ? computeGain(idleShare, 0.6, 1.1) : computeGain(unasked, 0.9, 1.1);
  const all = (unasked ?? idleShare) + computeGarbageShare(metrics);
  return { low, high: Math.max(high, computeGain(Math.min(0.95, all), 1, 1).high) };
}
