import { count, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import {
  canHostWithholdCores,
  computeWantedShare,
  findWorkingProcesses,
} from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import { computeGain, type Detector, type Hypothesis, scale, widen } from '../hypothesis.js';
import { isThrottled } from '../machine/machine.js';
import { readPoolSize } from '../machine/threadpool.js';
import { predictAbsorbedDelay } from '../outbound/calls.js';
import {
  buildLoopEvidence,
  computeInjectedMs,
  deriveLoopLimit,
  estimateWarmLimit,
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
  return {
    // More requests per turn mean fewer turns, and a timer runs at most once per turn.
    'connections x2': { low: 0.85, high: Math.max(1.1, 1.1 / loop.busy, 1 / own) },
    'connections /2': {
      low: Math.min(loop.busy > 0.95 ? 0.75 : 0.5, 0.85 * half),
      high: 1.2,
    },
    'cpu injection': {
      low: (0.92 * ownBusyMs) / (ownBusyMs + injected * 1.3 + INJECTION_OVERHEAD_MS),
      // Idle time is used first.
      high: (1.08 * loop.busyMs) / (loop.busyMs + injected * 0.95) / loop.busy,
    },
    ...predictSecondProcess(metrics),
    ...predictAbsorbedDelay(metrics),
  };
}

/** Minimum of the cores used by other processes at which they contend with the server. */
const MIN_CONTENDED_CORES = 0.3;

/**
 * Predicts 'second process': up to twice the throughput, as far as there are cores and the host does not withhold them.
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
    'second process': {
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
  const running = loop.run + loop.queued + loop.stolen;
  if (running < SATURATED) {
    return { limit, why: `the main thread is on a core ${share(loop.run)} of the time` };
  }
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
    unlisted: 'unknown',
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
function describeSteal({ stolen }: Loop): string {
  return stolen > 0.01
    ? `: the machine's host takes its core ${share(stolen)} of the time (steal)`
    : '';
}

export const detectSingleCore: Detector = (metrics) => {
  const { loop, base, throughput } = metrics;
  const limit = 'single-core';
  const cpu = base.outside?.cpu;
  if (!loop || !cpu) return null;
  if (cpu.cores < 2) return { limit, why: 'there is one core' };
  const loops = findWorkingProcesses(base).length;
  if (loop.run + loop.stolen < SATURATED || loops > 1) {
    const why =
      loops > 1
        ? `${loops} processes serve requests`
        : `its thread is on a core ${share(loop.run)} of the time`;
    return { limit, why };
  }
  if (cpu.idle < 0.6) return { limit, why: `only ${cpu.idle.toFixed(2)} cores are idle` };
  const maxProcesses = Math.min(cpu.cores, 1 + Math.floor(cpu.idle + 0.3));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.46,
    sentence: `one process on one core: its thread is on a core ${share(loop.run)} of the time${describeSteal(loop)}, ${cpu.idle.toFixed(1)} of ${cpu.cores} cores are idle.`,
    arithmetic: [`at most ${maxProcesses} processes: ${maxProcesses} x ${rate(throughput)} req/s`],
    evidence: [{ what: 'idle cores', value: cpu.idle, unit: 'cores', source: 'proc' }],
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change: `${maxProcesses} processes (node:cluster)`,
      predictedThroughput: {
        low: throughput * (1 + 0.6 * (maxProcesses - 1)),
        high: throughput * maxProcesses,
      },
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const detectWorkerImbalance: Detector = ({ base, throughput }) => {
  const limit = 'worker-imbalance';
  const processes = findWorkers(base);
  if (!base.outside) return null;
  if (processes.length < 2) return { limit, why: 'one process serves all requests' };
  // Waiting for a core is another limit.
  const runs = processes.map(({ main }) => computeWantedShare(main, base) - main.queued);
  const busiest = Math.max(...runs);
  const mean = runs.reduce((sum, run) => sum + run, 0) / runs.length;
  if (busiest < SATURATED || busiest / mean < 1.3) {
    return {
      limit,
      why: `the busiest of ${runs.length} processes is on a core ${share(busiest)} of the time, their mean is ${share(mean)}`,
    };
  }
  // The processes and the load generator need cores for it.
  const { cores, server } = base.outside.cpu;
  const used = server + estimateGeneratorCores(base.outside.cpu, throughput);
  const [even, bound] = [busiest / mean, cores / Math.max(0.01, used)];
  const balanced = Math.max(throughput, throughput * Math.min(even, bound));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.9,
    sentence: `the workers are not equally busy: one is on a core ${share(busiest)} of the time, the mean of ${runs.length} is ${share(mean)}.`,
    arithmetic: [
      `balanced: ${rate(throughput)} req/s x ${share(busiest)} / ${share(mean)} = ${rate(throughput * even)} req/s${bound < even ? `; the cores suffice for ${rate(balanced)} req/s` : ''}`,
    ],
    evidence: processes.map(({ pid, main }) => ({
      what: `process ${pid} on a core`,
      value: main.run,
      unit: '1',
      source: 'proc',
    })),
    unlisted: 'unknown',
    predictions: {
      'connections x2': { low: 0.9, high: (busiest / mean) * 1.1 },
    },
    remedy: {
      change:
        'spread the connections: more of them, a shorter keep-alive, or another scheduling policy',
      predictedThroughput: {
        low: Math.max(throughput, 0.85 * balanced),
        high: Math.max(1.05 * throughput, balanced),
      },
      nextLimit: bound < even ? 'shared-cores' : 'event-loop-cpu',
    },
  };
};

/**
 * Finds the processes that serve requests. Without a probe these are the Node.js processes other than a cluster's
 * primary, which accepts connections and passes them on.
 */
function findWorkers(base: Metrics['base']) {
  const processes = base.outside?.processes ?? [];
  const { inside } = base;
  if (inside) {
    const known = new Set([...inside.pids, ...inside.workers]);
    return processes.filter(({ pid }) => known.has(pid));
  }
  const grown = processes.filter(({ others }) => others.length >= 4);
  if (grown.length < 3) return findWorkingProcesses(base);
  const primary = grown.reduce((least, it) => (it.pid < least.pid ? it : least));
  return grown.filter((it) => it !== primary);
}

export const detectEventLoopSyncWait: Detector = (metrics) => {
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
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'the asynchronous form of the call (fs.promises, execFile, await instead of ...Sync); where each request starts a process, one long-lived process',
      predictedThroughput: predictWithoutWaiting(metrics, part),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/**
 * Predicts throughput when the loop no longer waits: bounded by its CPU time and the requests in flight, and for calls
 * of `node:fs` by the thread pool, which runs them then.
 */
function predictWithoutWaiting(metrics: Metrics, part: number): Range {
  const { loop, maxConcurrency, throughput, loopTime } = metrics;
  const eachMs = Math.max(0.001, loop?.busyMs ?? 0);
  const warm = estimateWarmLimit(metrics);
  const inFlight = (maxConcurrency * 1000) / eachMs;
  const byPool = (readPoolSize(metrics) * 1000) / (eachMs * part);
  const byCores = computeCoreLimit(metrics);
  const maxThroughput = Math.max(
    throughput,
    Math.min(warm?.high ?? Number.POSITIVE_INFINITY, inFlight, 1.3 * byCores),
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

/** Maximum CPU time of the generator per request, ms; the rest of its time is the fixed cost of observing. */
const MAX_GENERATOR_MS = 0.01;

/** Estimates the cores that the generator uses for requests. */
function estimateGeneratorCores({ self }: { self: number }, throughput: number): number {
  return Math.min(self, (throughput * MAX_GENERATOR_MS) / 1000);
}

/** Computes the throughput at which the CPU time per request, including that of child processes, takes all cores. */
function computeCoreLimit({ base, throughput }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu) return Number.POSITIVE_INFINITY;
  const used = cpu.server + cpu.others + estimateGeneratorCores(cpu, throughput);
  return (throughput * cpu.cores) / Math.max(0.02, used);
}

/** Measured share of long callbacks: measurement begins after the callback does, and leaves out shorter ones. */
const MEASURED_STALL_SHARE = { low: 0.95, high: 1.03 };

/** The probe's label of a long callback that no request caused. */
const NOT_A_REQUEST = 'not a request';

export const detectEventLoopBlocked: Detector = (metrics) => {
  const { base, loop, throughput, responseMs } = metrics;
  const limit = 'event-loop-blocked';
  const stalls = base.inside?.stalls;
  if (!stalls || !loop) return null;
  const rare = stalls.count / base.load.durationMs < (0.2 * throughput) / 1000;
  const matters = stalls.share >= 0.12 || stalls.residualMs > 0.3 * responseMs;
  if (stalls.count === 0 || !matters || !rare) {
    const why =
      stalls.count === 0
        ? 'no callback blocked the loop for 20 ms'
        : rare
          ? `long callbacks blocked the loop ${share(stalls.share)} of the time`
          : 'every request takes long, not just a few';
    return { limit, why };
  }
  const by = stalls.byCause[0];
  const part = Math.min(0.97, stalls.share / Math.max(0.05, loop.busy));
  const saturated = loop.busy >= SATURATED;
  return {
    limit,
    weight: Math.min(1, 0.5 + stalls.share),
    ...(saturated && { causeOf: 'event-loop-cpu' as const }),
    sentence: `the event loop is blocked: ${count(stalls.count)} callbacks ran for up to ${time(stalls.longestMs)}, ${share(stalls.share)} of the time in total${by ? `; ${by.cause === NOT_A_REQUEST ? 'the cause is not a request but a timer or another event' : `the cause is ${by.cause}`}` : ''}.`,
    arithmetic: [
      `all ${count(metrics.maxConcurrency)} requests wait meanwhile; one that arrives at any time waits ${time(stalls.residualMs)} for it on average (sum of squares / 2 x time)`,
      `without it: ${rate(throughput)} req/s / (1 - ${share(part)})`,
    ],
    evidence: [
      { what: 'loop blocked by long callbacks', value: stalls.share, unit: '1', source: 'probe' },
      { what: 'longest callback', value: stalls.longestMs, unit: 'ms', source: 'probe' },
      ...stalls.byCause.slice(0, 3).map(({ cause, ms }) => ({
        what: `blocked by ${cause}`,
        value: ms,
        unit: 'ms',
        source: 'probe',
      })),
    ],
    unlisted: 'unknown',
    predictions: saturated ? predictBusyLoop(metrics) : {},
    remedy: {
      change: `move ${by && by.cause !== NOT_A_REQUEST ? by.cause : 'the work'} to a worker thread, or split it into short pieces`,
      predictedThroughput: saturated
        ? scale(computeGain(part, MEASURED_STALL_SHARE.low, MEASURED_STALL_SHARE.high), throughput)
        : {
            low: throughput,
            high: (throughput * responseMs) / Math.max(0.1, responseMs - stalls.residualMs),
          },
      nextLimit: 'event-loop-cpu',
    },
  };
};

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
    unlisted: 'unknown',
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
function predictWithoutIdleWork({ loopTime }: Metrics, idleShare: number): Range {
  const unasked = loopTime?.background ?? null;
  return unasked === null ? computeGain(idleShare, 0.6, 1.1) : computeGain(unasked, 0.9, 1.1);
}
