import { rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { deriveLoopLimit } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, widen } from '../../hypotheses/hypothesis.js';
import { isThrottled } from '../../hypotheses/machine/cores.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const CPU_QUOTA = {
  id: 'cpu-quota',
  group: 'machine',
  text: {
    title: 'A CPU quota',
    what: 'The container has a limited CPU time per period of 100 ms. When it is used up the server stops until the next period.',
    shows: 'Many periods of the cgroup end with its processes stopped (throttled).',
    experiment:
      "None of its own: explain does not change the quota. 'connections x2' yields nothing.",
    formula: 'maximum = cores of the quota / CPU time per request',
    remedy: 'A higher quota (cpu.max), or none.',
    confirm:
      'raise the quota (cpu.max) by half: throughput rises with it, up to half as much again, and fewer periods are throttled',
    detected: 'by its signature',
    note: 'The mean CPU usage may look low: a burst within a period is enough.',
  },
  detectors: [detectCpuQuota],
  addsCapacity: true,
  isSevere: true,
} satisfies Limit;

function detectCpuQuota(metrics: Metrics): Detected {
  const limit = 'cpu-quota';
  const { base, throughput } = metrics;
  const quota = base.outside?.quota;
  if (!base.outside) return null;
  if (!quota) return { limit, why: 'no CPU quota was found' };
  if (!isThrottled(base.outside)) {
    return { limit, why: `${share(quota.throttledPeriods)} of the quota's periods were throttled` };
  }
  const cpuMs = (base.outside.cpu.server * 1000) / Math.max(1e-9, throughput);
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
}

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
