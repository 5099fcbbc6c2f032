import { rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import {
  computeForeignCores,
  computeStealShare,
  findWorkingProcesses,
  MIN_FOREIGN_CORES,
} from '../../metrics/derive.js';
import type { MachineUse, Metrics } from '../../metrics/types.js';
import type { OutsideView } from '../../observe/types.js';
import { deriveLoopLimit, SATURATED } from '../event-loop/loop-capacity.js';
import { describeRunningLoop } from '../event-loop/queue.js';
import { type Detector, type Hypothesis, scale, widen } from '../hypothesis.js';
import { findSaturatedProgram } from '../outbound/saturated-program.js';
import { computeUnseenCores } from '../outbound/unseen-programs.js';

/**
 * Whether the loop is ready to run but has no core for a good part of the time. Loops that mostly wait do not count.
 */
function isStarved({ run, queued }: MachineUse['loop']): boolean {
  return queued > 0.15 && run + queued > 0.6;
}

/** Describes why cores are available, even if a quota keeps the server from them; `null` if none is. */
function describeFreeCores({ base }: Metrics, idle: number): string | null {
  if (base.outside && isThrottled(base.outside)) {
    return 'the CPU quota keeps the server from a core';
  }
  return idle > 0.5 ? `${idle.toFixed(2)} cores are idle` : null;
}

/** Whether a quota stops the server in a good part of its periods. */
export function isThrottled({ quota }: OutsideView): boolean {
  return (
    quota !== null &&
    quota.throttledPeriods >= MIN_THROTTLED_PERIODS &&
    quota.throttledShare >= MIN_THROTTLED_SHARE
  );
}

/** Minimum shares of the periods and of the time in which a quota stops the server: brief stops are not a limit. */
const MIN_THROTTLED_PERIODS = 0.1;
const MIN_THROTTLED_SHARE = 0.05;

/** Predictions for a loop without a core, which serves no more requests when there are more. */
const NO_CORE_PREDICTIONS = {
  'connections-x2': { low: 0.5, high: 1.35 },
  'connections-half': { low: 0.7, high: 1.5 },
  'second-process': { low: 0.5, high: 1.35 },
};

export const detectSharedCores: Detector = (metrics) => {
  const limit = 'shared-cores';
  const { machine, throughput } = metrics;
  if (!machine) return null;
  const { cpu, loop } = machine;
  const free = describeFreeCores(metrics, cpu.idle);
  if (free) return { limit, why: free };
  if (!isStarved(loop))
    return { limit, why: `the main thread waits for a core ${share(loop.queued)} of the time` };
  // Other threads of the server (a pool, garbage collection) may be what takes the cores.
  const threads = cpu.server - loop.run;
  if (cpu.self < 0.2 || cpu.self < Math.max(cpu.others, threads))
    return { limit, why: 'not the load generator but other programs or threads take the cores' };
  const stretch = (loop.run + loop.queued) / Math.max(0.01, loop.run);
  return {
    limit,
    weight: Math.min(1, 0.55 + loop.queued),
    sentence: `server and load generator share cores: the server's thread waits for a core ${share(loop.queued)} of the time.`,
    arithmetic: [
      `(running ${share(loop.run)} + waiting ${share(loop.queued)}) / running = x ${stretch.toFixed(2)}: the server's work takes that much longer`,
      `the generator uses ${cpu.self.toFixed(2)} cores, the server ${cpu.server.toFixed(2)}; there are ${cpu.cores}`,
    ],
    evidence: [
      { what: 'main thread waits for a core', value: loop.queued, unit: '1', source: 'proc' },
      { what: 'generator', value: cpu.self, unit: 'cores', source: 'proc' },
    ],
    predictions: NO_CORE_PREDICTIONS,
    remedy: {
      change: 'separate cores for generator and server (taskset), or another machine for the load',
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.5, high: stretch * 1.1 }, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const detectNoisyMachine: Detector = (metrics) => {
  const limit = 'noisy-machine';
  const { machine, throughput } = metrics;
  if (!machine) return null;
  const { cpu, loop } = machine;
  if (isLimitedBySteal(loop)) return describeSteal(machine, throughput);
  if (metrics.loop?.isFromProbe === false && canBeLimitedBySteal(machine))
    return describePossibleSteal(machine);
  // Programs that come and go leave cores idle when they are gone.
  const free = describeFreeCores(metrics, machine.minIdle);
  if (free) return { limit, why: free };
  // What the service calls on this machine is no noise: it is there because of the load.
  const foreign = computeForeignCores(cpu);
  const isCalled = computeUnseenCores(metrics) !== null;
  if (isCalled && !describeRunningLoop(metrics) && findSaturatedProgram(metrics)) {
    const why = `other processes use ${foreign.toFixed(2)} cores, in proportion to the requests: they seem to work for the service`;
    return { limit, why };
  }
  if (foreign <= MIN_FOREIGN_CORES || foreign <= cpu.self || !isStarved(loop)) {
    const called = cpu.dependencies > 0.05 ? 'that the service is not seen to call ' : '';
    return {
      limit,
      why: `other processes ${called}use ${foreign.toFixed(2)} cores, the host takes ${share(computeStealShare(cpu))} of the wanted CPU time`,
    };
  }
  const stretch = (loop.run + loop.queued) / Math.max(0.01, loop.run);
  return {
    limit,
    // Severe only where they take a good part of the loop's core: otherwise the rest is the larger share.
    weight: Math.min(1, 0.45 + loop.queued),
    sentence: `other processes use ${foreign.toFixed(2)} of ${cpu.cores} cores${isCalled ? ', in proportion to the requests (a database in a container?)' : ''}: the server's thread waits for a core ${share(loop.queued)} of the time.`,
    arithmetic: [
      `(running ${share(loop.run)} + waiting ${share(loop.queued)}) / running = x ${stretch.toFixed(2)}`,
    ],
    evidence: [
      { what: 'other processes', value: foreign, unit: 'cores', source: 'proc' },
      { what: 'main thread waits for a core', value: loop.queued, unit: '1', source: 'proc' },
    ],
    // Threads share cores equally: two processes get up to twice the share of one.
    predictions: { ...NO_CORE_PREDICTIONS, 'second-process': { low: 0.5, high: 2.1 } },
    remedy: {
      change:
        'measure on a quiet machine, or stop the other programs; give those that belong to the service (a database in a container) cores of their own',
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.6, high: stretch * 1.1 }, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** Minimum share of the time stolen from a busy loop at which steal is the limit. A lower share is only reported. */
const MIN_STOLEN_SHARE = 0.3;

/** Whether steal limits a busy loop, more than other programs on the machine do. */
function isLimitedBySteal({ run, queued, stolen }: MachineUse['loop']): boolean {
  return stolen >= MIN_STOLEN_SHARE && stolen > queued && run + queued + stolen >= SATURATED;
}

const STEAL_EVIDENCE = 'stolen by the host';

/** Whether a hypothesis is steal by the machine's host. */
export function isStealHypothesis({ evidence }: Hypothesis): boolean {
  return evidence.some(({ what }) => what === STEAL_EVIDENCE);
}

/** Minimum share of steal at which nothing else can be concluded about a loop without a probe. */
const MIN_DOMINANT_STEAL = 0.5;

/** Whether the loop may want its core all the time, if each thread loses the same part of the time that it wants. */
function canBeLimitedBySteal({ cpu, loop }: MachineUse): boolean {
  const part = Math.min(0.99, computeStealShare(cpu));
  return part >= MIN_DOMINANT_STEAL && loop.queued + loop.run / (1 - part) >= SATURATED;
}

/** Describes steal without a probe: on some kernels the time on a core includes stolen time. */
function describePossibleSteal({ cpu, loop }: MachineUse): Hypothesis {
  const part = share(computeStealShare(cpu));
  return {
    limit: 'noisy-machine',
    weight: 0.75,
    sentence: `the machine's host takes ${part} of the wanted CPU time (steal); without the probe it is unknown how much of it the server loses.`,
    arithmetic: [
      `stolen ${cpu.steal.toFixed(2)} / wanted ${cpu.wanted.toFixed(2)} cores = ${part}`,
      `running ${share(loop.run)} / (1 - ${part}) = share of the time that the server's thread may have wanted`,
    ],
    evidence: [{ what: STEAL_EVIDENCE, value: cpu.steal, unit: 'cores', source: 'proc' }],
    // A loop without a core serves no more with more connections, unless the host takes less by then.
    predictions: { 'connections-x2': { low: 0.3, high: 1.35 } },
    remedy: { change: DEDICATED_CORES, predictedThroughput: null, nextLimit: null },
  };
}

const DEDICATED_CORES =
  'measure on a machine with dedicated cores (a burstable instance: once its credits are restored)';

/**
 * Describes steal that limits the loop. No experiment can refute it, as the host takes a different amount at any time.
 */
function describeSteal({ cpu, loop }: MachineUse, throughput: number): Hypothesis {
  const stretch = (loop.run + loop.stolen) / Math.max(0.01, loop.run);
  return {
    limit: 'noisy-machine',
    weight: 0.75,
    sentence: `the machine's host takes ${share(computeStealShare(cpu))} of the wanted CPU time (steal): the server's thread lacks its core ${share(loop.stolen)} of the time.`,
    arithmetic: [
      `stolen ${cpu.steal.toFixed(2)} / wanted ${cpu.wanted.toFixed(2)} cores = ${share(computeStealShare(cpu))}`,
      `(running ${share(loop.run)} + stolen ${share(loop.stolen)}) / running = x ${stretch.toFixed(2)}: the server's work takes that much longer`,
    ],
    evidence: [
      { what: STEAL_EVIDENCE, value: cpu.steal, unit: 'cores', source: 'proc' },
      { what: 'main thread on a core', value: loop.run, unit: '1', source: 'proc' },
    ],
    predictions: {},
    remedy: {
      change: DEDICATED_CORES,
      predictedThroughput: scale({ low: 1 + (stretch - 1) * 0.5, high: stretch * 1.1 }, throughput),
      // The next limit is taken from the other hypotheses.
      nextLimit: null,
    },
  };
}

export const detectCpuQuota: Detector = (metrics) => {
  const limit = 'cpu-quota';
  const { base, throughput } = metrics;
  const quota = base.outside?.quota;
  if (!base.outside) return null;
  if (!quota) return { limit, why: 'no CPU quota was found' };
  if (!isThrottled(base.outside)) {
    return { limit, why: `${share(quota.throttledPeriods)} of the quota's periods were throttled` };
  }
  const cpuMs = (base.outside.cpu.server * 1000) / Math.max(1, throughput);
  return {
    limit,
    weight: 0.98,
    sentence: `the CPU quota: ${quota.cores} cores are allowed, and ${share(quota.throttledPeriods)} of the periods end with the server stopped.`,
    arithmetic: [
      `${quota.cores} cores / ${time(cpuMs)} of CPU per request = ${rate((quota.cores * 1000) / cpuMs)} req/s, measured ${rate(throughput)}`,
      `the server is stopped ${share(quota.throttledShare)} of the time`,
    ],
    evidence: [
      { what: 'periods throttled', value: quota.throttledPeriods, unit: '1', source: 'proc' },
      { what: 'quota', value: quota.cores, unit: 'cores', source: 'proc' },
    ],
    predictions: { 'connections-x2': widen(1, 0.15) },
    remedy: {
      change: `no quota, or a higher one (cpu.max): each core of it yields ${rate(1000 / cpuMs)} req/s`,
      predictedThroughput: predictWithoutQuota(metrics, cpuMs),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/**
 * Predicts throughput without the quota: all loops busy, bounded by the requests in flight. The CPU time of a request
 * is spent on the loop alone at worst; at best other threads do their part in parallel.
 */
function predictWithoutQuota(metrics: Metrics, cpuMs: number): Interval | null {
  const { throughput, maxConcurrency, unloadedLatencyMs, base } = metrics;
  const loops = deriveLoopLimit(metrics);
  if (loops === null) return null;
  // The quota may have stopped the single request too.
  const stopped = metrics.single?.outside?.quota?.throttledShare ?? 0;
  const aloneMs =
    unloadedLatencyMs &&
    Math.min(unloadedLatencyMs, Math.max(cpuMs, unloadedLatencyMs * (1 - stopped)));
  const asked = aloneMs ? (maxConcurrency * 1000) / aloneMs : Number.POSITIVE_INFINITY;
  const serial = (Math.max(1, findWorkingProcesses(base).length) * 1000) / cpuMs;
  const high = Math.max(throughput, Math.min(1.1 * loops, asked));
  return { low: Math.max(throughput, Math.min(serial, 0.9 * high)), high };
}
