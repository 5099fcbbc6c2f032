import type { Interval } from '../../../statistics/types.js';
import { computeBusyMs, computeCpuMs, computeLoopLimit } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { ExplainEvidence } from '../../result.js';
import { scale } from '../hypothesis.js';

/** Busy share of the time at which a loop is saturated, measured by the loop or by the system. */
export const SATURATED = 0.85;

/** Derives the maximum responses per second of the loops by the utilization law X = U / D. */
export function deriveLoopLimit({ base }: Metrics): number | null {
  return computeLoopLimit(base);
}

/**
 * Estimates the maximum responses per second of a loop once it is busy. A busy loop takes less time per request than
 * one that mostly sleeps: requests share wake-ups, and caches stay warm. Measured: 1.3 to 3.7 times the limit of a loop
 * that was less than a third busy, up to 1.9 times that of one that was a third busy.
 */
export function estimateWarmLimit(metrics: Metrics): Interval | null {
  const cold = deriveLoopLimit(metrics);
  const { run, stolen } = metrics.loop ?? { run: 1, stolen: 0 };
  if (cold === null) return null;
  if (run + stolen < 0.3) return scale({ low: 1.3, high: 4 }, cold);
  return scale(run + stolen < 0.6 ? { low: 1, high: 2 } : { low: 0.9, high: 1 }, cold);
}

/** Estimates the maximum responses per second by the loops, the CPU time on all threads, and bounded socket pools. */
function estimateServerLimit(metrics: Metrics): number | null {
  const loops = deriveLoopLimit(metrics);
  const { outside } = metrics.base;
  if (loops === null || !outside) return null;
  const byCores = (outside.cpu.cores * metrics.throughput) / Math.max(0.01, outside.cpu.server);
  return Math.min(loops, byCores, computePoolLimit(metrics));
}

/** Computes the maximum responses per second by bounded pools of sockets for outbound calls; infinite without one. */
export function computePoolLimit({ base, throughput }: Metrics): number {
  const limits = (base.inside?.outbound ?? []).flatMap(({ maxSockets, answerMs, rate: calls }) =>
    maxSockets && answerMs && calls > 0
      ? [((maxSockets * 1000) / answerMs) * (throughput / calls)]
      : [],
  );
  return Math.min(...limits, Number.POSITIVE_INFINITY);
}

/**
 * Estimates the maximum responses per second: as measured where more connections queued, else by the loops. Their limit
 * is taken from the ramp if there was one, as they are warmer there than under the requested load.
 */
export function estimateMaxThroughput(metrics: Metrics): number | null {
  const { connectionRamp } = metrics;
  if (!connectionRamp) return estimateServerLimit(metrics);
  return connectionRamp.isQueueing
    ? connectionRamp.throughput
    : Math.max(connectionRamp.throughput, connectionRamp.loopLimit);
}

/**
 * Computes the share of the loop's busy time in garbage collection. A profile charges it to no function, so it comes on
 * top of what periodic work takes, whose objects it may collect.
 */
export function computeGarbageShare({ base, loop }: Metrics): number {
  const { young = 0, old = 0, other = 0 } = base.inside?.gc ?? {};
  return Math.min(0.5, (young + old + other) / Math.max(0.05, loop?.busy ?? 1));
}

/** Computes the busy time that 'cpu-injection' adds per request in ms: enough for a measurable effect, and no more. */
export function computeInjectedMs({ base }: Metrics): number {
  const busy = base.inside?.utilization ?? 0;
  const each = (busy >= SATURATED ? computeBusyMs(base) : computeCpuMs(base)) ?? 0.1;
  return Math.min(20, Math.max(0.02, each * 0.6));
}

/** Lists the measurements of the event loop. */
export function buildLoopEvidence({ loop, base }: Metrics): ExplainEvidence[] {
  if (!loop) return [];
  const source = loop.isFromProbe ? 'probe' : 'proc';
  const inside = base.inside;
  return [
    { what: 'event loop busy', value: loop.busy, unit: '1', source },
    { what: 'main thread on a core', value: loop.run, unit: '1', source: 'proc' },
    { what: 'CPU time of the loop per response', value: loop.cpuMs, unit: 'ms', source: 'proc' },
    ...(inside
      ? [{ what: 'requests in handlers', value: inside.inFlight, unit: 'requests', source }]
      : []),
  ];
}
