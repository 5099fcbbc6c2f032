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

/** What it costs the loop to add work, beside that work: measured, 1 to 3 us and up to a third of it. */
const INJECTION_OVERHEAD_MS = 0.002;

/** What every limit of a busy loop shares: more connections give nothing, more work per request costs its time. */
export function predictBusyLoop(metrics: Metrics): Hypothesis['predictions'] {
  const { loop, maxConcurrency, unloadedLatencyMs, throughput } = metrics;
  if (!loop) return {};
  // Half of the requests may be too few to keep it busy: N / 2 / R of a single one.
  const half = unloadedLatencyMs ? (maxConcurrency * 500) / unloadedLatencyMs / throughput : 0.6;
  const injected = computeInjectedMs(metrics);
  // What the loop does without being asked is no part of a request: it stays as it is, or gives way.
  const own = Math.max(0.05, 1 - (metrics.idleShare ?? 0) / loop.busy);
  const ownBusyMs = own * loop.busyMs;
  return {
    // More requests to a turn are fewer turns, and a timer runs once in a turn at most.
    'connections x2': { low: 0.85, high: Math.max(1.1, 1.1 / loop.busy, 1 / own) },
    'connections /2': {
      low: Math.min(loop.busy > 0.95 ? 0.75 : 0.5, 0.85 * half),
      high: 1.2,
    },
    'cpu injection': {
      low: (0.92 * ownBusyMs) / (ownBusyMs + injected * 1.3 + INJECTION_OVERHEAD_MS),
      // What it was idle is used first.
      high: (1.08 * loop.busyMs) / (loop.busyMs + injected * 0.95) / loop.busy,
    },
    ...predictSecondProcess(metrics),
    ...predictAbsorbedDelay(metrics),
  };
}

/** Cores that other processes use, from which on they contend for them. */
const MIN_CONTENDED_CORES = 0.3;

/** A second loop does as much again, as far as there are cores for it, the generator and all others, and the host leaves them. */
function predictSecondProcess(metrics: Metrics): Hypothesis['predictions'] {
  const { base, machine } = metrics;
  const cpu = base.outside?.cpu;
  const loops = findWorkingProcesses(base);
  if (!cpu || loops.length > 1) return {};
  const twice = (used: number) => Math.min(2, (cpu.cores - cpu.others) / Math.max(0.01, used));
  // All but the loops may do the same with less: generators wake up less often, a collection takes more in parallel than alone.
  const run = loops.reduce((sum, { main }) => sum + main.run, 0);
  const [gain, most] = [twice(cpu.server + cpu.self), twice(run)];
  // What both share besides the cores may give less; others that are as busy have to give way to each alike.
  const fair = cpu.others > MIN_CONTENDED_CORES ? 2 : most;
  return {
    'second process': {
      low: Math.min(
        canHostWithholdCores(machine) ? 0.85 : 1.05,
        0.75 * gain,
        0.95 * computeDemand(metrics),
      ),
      high: Math.max(1.1, 1.08 * most, 1.05 * fair),
    },
  };
}

/** The most that so many requests in flight ask for, N / (R + Z), as a ratio: two loops that are half as busy give no more. */
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
    return { limit, why: `the main thread runs ${share(loop.run)} of the time` };
  }
  const loops = findWorkingProcesses(metrics.base).length;
  const most = deriveLoopLimit(metrics);
  const cores = metrics.base.outside?.cpu;
  const idle = cores ? Math.floor(cores.idle + 0.3) : 0;
  return {
    limit,
    weight: Math.min(1, 0.7 + (running - SATURATED) * 2),
    sentence: `the event loop: ${loops > 1 ? `${loops} of them are` : 'it is'} ${share(loop.busy)} busy, and each request costs ${time(loop.cpuMs)} of CPU time.`,
    arithmetic: [
      `${loops > 1 ? loops : '1'} / ${time(loop.cpuMs)} = ${most ? rate(most) : '?'} req/s at most, measured ${rate(throughput)}${describeSteal(loop)}`,
      `${count(maxConcurrency)} in flight / ${rate(throughput)} req/s = ${time((maxConcurrency * 1000) / throughput)} each, measured ${time(metrics.latencyMs)}: more connections only wait longer`,
    ],
    evidence: buildLoopEvidence(metrics),
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        idle > 0
          ? `less work per request (see the functions), or more processes: ${idle} ${idle === 1 ? 'core is' : 'cores are'} idle`
          : 'less work per request (see the functions), or more processes on more cores',
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

/** What keeps a loop from its core, where that is its limit all the same. */
function describeSteal({ stolen }: Loop): string {
  return stolen > 0.01
    ? `: the machine's host keeps its core for ${share(stolen)} of the time`
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
    const why = loops > 1 ? `${loops} processes work` : `its thread runs ${share(loop.run)}`;
    return { limit, why };
  }
  if (cpu.idle < 0.6) return { limit, why: `only ${cpu.idle.toFixed(2)} cores are idle` };
  const most = Math.min(cpu.cores, 1 + Math.floor(cpu.idle + 0.3));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.46,
    sentence: `one process on one core: its thread runs ${share(loop.run)} of the time${describeSteal(loop)}, ${cpu.idle.toFixed(1)} of ${cpu.cores} cores are idle.`,
    arithmetic: [`${most} processes at most: ${most} x ${rate(throughput)} req/s`],
    evidence: [{ what: 'idle cores', value: cpu.idle, unit: 'cores', source: 'proc' }],
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change: `${most} processes (node:cluster)`,
      predictedThroughput: { low: throughput * (1 + 0.6 * (most - 1)), high: throughput * most },
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const detectWorkerImbalance: Detector = ({ base, throughput }) => {
  const limit = 'worker-imbalance';
  const processes = findWorkers(base);
  if (!base.outside) return null;
  if (processes.length < 2) return { limit, why: 'one process serves' };
  // What a neighbour takes is another limit.
  const runs = processes.map(({ main }) => computeWantedShare(main, base) - main.queued);
  const most = Math.max(...runs);
  const mean = runs.reduce((sum, run) => sum + run, 0) / runs.length;
  if (most < SATURATED || most / mean < 1.3) {
    return {
      limit,
      why: `the busiest of ${runs.length} processes runs ${share(most)}, the mean ${share(mean)}`,
    };
  }
  // They and the load need cores for it.
  const { cores, server } = base.outside.cpu;
  const used = server + estimateGeneratorCores(base.outside.cpu, throughput);
  const [even, bound] = [most / mean, cores / Math.max(0.01, used)];
  const balanced = Math.max(throughput, throughput * Math.min(even, bound));
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.9,
    sentence: `the workers are not equally busy: one runs ${share(most)} of the time, the mean of ${runs.length} is ${share(mean)}.`,
    arithmetic: [
      `balanced: ${rate(throughput)} req/s x ${share(most)} / ${share(mean)} = ${rate(throughput * even)} req/s${bound < even ? `, if there were cores for it: ${rate(balanced)} req/s` : ''}`,
    ],
    evidence: processes.map(({ pid, main }) => ({
      what: `process ${pid} on a core`,
      value: main.run,
      unit: '1',
      source: 'proc',
    })),
    unlisted: 'unknown',
    predictions: {
      'connections x2': { low: 0.9, high: (most / mean) * 1.1 },
    },
    remedy: {
      change:
        'spread the connections: more of them, a shorter keep-alive, or another way of scheduling',
      predictedThroughput: {
        low: Math.max(throughput, 0.85 * balanced),
        high: Math.max(1.05 * throughput, balanced),
      },
      nextLimit: bound < even ? 'shared-cores' : 'event-loop-cpu',
    },
  };
};

/** Without a probe: of the Node processes of the tree those that may serve; a cluster's primary accepts and hands over, and works little. */
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
    return { limit, why: 'the quota of CPU stops the process' };
  }
  if (!metrics.base.outside?.hasRunQueueTimes) return null;
  // How much of the host's theft fell on other threads is not known: twice its part may have fallen on this one.
  const steal = metrics.machine?.cpu.steal ?? metrics.base.outside.cpu.steal;
  const further = Math.min(loop.stolen, Math.max(0, steal - loop.stolen));
  const surely = loop.waiting - further;
  if (surely < 0.15 || surely < 0.25 * loop.busy) {
    const byHost = further > 0.01 ? `; the host may have taken ${share(further)} more of it` : '';
    return {
      limit,
      why: `${share(loop.waiting)} of the time it holds the loop without a core${byHost}`,
    };
  }
  const part = loop.waiting / loop.busy;
  return {
    limit,
    weight: Math.min(1, 0.5 + part),
    sentence: `the event loop is held by calls that wait: busy ${share(loop.busy)} of the time, but on a core only ${share(loop.run)}.`,
    arithmetic: [
      `busy ${share(loop.busy)} - on a core ${share(loop.run)} - queued for one ${share(loop.queued)}${loop.stolen > 0.01 ? ` - taken by the machine's host ${share(loop.stolen)}` : ''} = ${share(loop.waiting)} of the time waiting inside a synchronous call`,
      `${time((loop.waiting * 1000) / throughput)} of it per request`,
    ],
    evidence: [
      ...buildLoopEvidence(metrics),
      { what: 'loop held without a core', value: loop.waiting, unit: '1', source: 'probe, proc' },
    ],
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'the asynchronous form of the call (fs.promises, execFile, await instead of ...Sync); where it starts a process for each request, one that stays',
      predictedThroughput: predictWithoutWaiting(metrics, part),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/**
 * Throughput if the waiting leaves the loop: bounded by its CPU and by the requests in flight, and what waits in calls of
 * `node:fs` by the pool of threads, where it goes then.
 */
function predictWithoutWaiting(metrics: Metrics, part: number): Range {
  const { loop, maxConcurrency, throughput, loopTime } = metrics;
  const eachMs = Math.max(0.001, loop?.busyMs ?? 0);
  const warm = estimateWarmLimit(metrics);
  const inFlight = (maxConcurrency * 1000) / eachMs;
  const byPool = (readPoolSize(metrics) * 1000) / (eachMs * part);
  const byCores = computeCoreLimit(metrics);
  const most = Math.max(
    throughput,
    Math.min(warm?.high ?? Number.POSITIVE_INFINITY, inFlight, 1.3 * byCores),
  );
  if (loopTime === null)
    return { low: Math.max(throughput, Math.min(most, byPool) * 0.9), high: most };
  if (loopTime.files > 0.5 * part) return widen(Math.max(throughput, Math.min(most, byPool)), 0.1);
  const least = Math.min(warm?.low ?? Number.POSITIVE_INFINITY, 0.9 * inFlight, 0.9 * byCores);
  return { low: Math.max(throughput, least), high: most };
}

/** What a request takes of the generator at most, ms; what else that takes is for looking, however few requests there are. */
const MAX_GENERATOR_MS = 0.01;

/** What the generator uses for requests. */
function estimateGeneratorCores({ self }: { self: number }, throughput: number): number {
  return Math.min(self, (throughput * MAX_GENERATOR_MS) / 1000);
}

/** Throughput if every request goes on costing the machine what it does: programs that are started take cores, too. */
function computeCoreLimit({ base, throughput }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu) return Number.POSITIVE_INFINITY;
  const used = cpu.server + cpu.others + estimateGeneratorCores(cpu, throughput);
  return (throughput * cpu.cores) / Math.max(0.02, used);
}

/** What is measured of a block begins when it has begun, and leaves out what is shorter than blocks are. */
const MEASURED_STALL_SHARE = { low: 0.95, high: 1.03 };

/** What the probe says of a block that no request made. */
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
        ? 'no callback held the loop for 20 ms'
        : rare
          ? `long callbacks held the loop ${share(stalls.share)} of the time`
          : 'every request takes long, not some';
    return { limit, why };
  }
  const by = stalls.byCause[0];
  const part = Math.min(0.97, stalls.share / Math.max(0.05, loop.busy));
  const saturated = loop.busy >= SATURATED;
  return {
    limit,
    weight: Math.min(1, 0.5 + stalls.share),
    ...(saturated && { causeOf: 'event-loop-cpu' as const }),
    sentence: `the event loop is blocked: ${count(stalls.count)} times one callback held it for up to ${time(stalls.longestMs)}, ${share(stalls.share)} of the time${by ? `; ${by.cause === NOT_A_REQUEST ? 'by no request, so a timer or another event' : by.cause}` : ''}.`,
    arithmetic: [
      `all ${count(metrics.maxConcurrency)} requests stand still meanwhile; one that comes at any time waits ${time(stalls.residualMs)} for it on average (sum of squares / 2 x time)`,
      `without it: ${rate(throughput)} req/s / (1 - ${share(part)})`,
    ],
    evidence: [
      { what: 'loop held by long callbacks', value: stalls.share, unit: '1', source: 'probe' },
      { what: 'longest', value: stalls.longestMs, unit: 'ms', source: 'probe' },
      ...stalls.byCause.slice(0, 3).map(({ cause, ms }) => ({
        what: `held by ${cause}`,
        value: ms,
        unit: 'ms',
        source: 'probe',
      })),
    ],
    unlisted: 'unknown',
    predictions: saturated ? predictBusyLoop(metrics) : {},
    remedy: {
      change: `move ${by && by.cause !== NOT_A_REQUEST ? by.cause : 'it'} to a worker thread, or cut it into pieces`,
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
  if (idleShare < 0.1) return { limit, why: `without load it used ${share(idleShare)} of a core` };
  if (loop && loop.busy < SATURATED) {
    return { limit, why: `the event loop is only ${share(loop.busy)} busy` };
  }
  if (metrics.loopTime?.background === 0) {
    return {
      limit,
      why: 'what runs without load is none of what takes the busiest loop under load',
    };
  }
  return {
    limit,
    ...(loop && loop.busy >= SATURATED && { causeOf: 'event-loop-cpu' as const }),
    weight: Math.min(1, 0.45 + idleShare),
    sentence: `work that nobody asked for: without any request the loop uses ${share(idleShare)} of a core.`,
    arithmetic: [`${rate(throughput)} req/s / (1 - ${share(idleShare)}) without it`],
    evidence: [{ what: 'CPU without load', value: idleShare, unit: 'cores', source: 'proc' }],
    unlisted: 'unknown',
    predictions: loop && loop.busy >= SATURATED ? predictBusyLoop(metrics) : {},
    remedy: {
      change: 'find the timer or scan (the profile shows it) and do it less often',
      predictedThroughput: scale(predictWithoutIdleWork(metrics, idleShare), throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** The gain without what nobody asks for. A timer runs less often in a busy loop than in an idle one: a profile tells what is left of it. */
function predictWithoutIdleWork({ loopTime }: Metrics, idleShare: number): Range {
  const unasked = loopTime?.background ?? null;
  return unasked === null ? computeGain(idleShare, 0.6, 1.1) : computeGain(unasked, 0.9, 1.1);
}
