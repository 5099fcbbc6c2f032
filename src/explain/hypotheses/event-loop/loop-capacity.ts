import type { Range } from '../../../statistics/types.js';
import { computeBusyMs, computeCpuMs, computeLoopLimit } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Evidence } from '../../result.js';
import { scale } from '../hypothesis.js';

/** Busy from which on a loop gives no more, by its own account or the system's. */
export const SATURATED = 0.85;

/** Responses per second that the loops can give at most, by the utilisation law X = U / D. */
export function deriveLoopLimit({ base }: Metrics): number | null {
  return computeLoopLimit(base);
}

/**
 * The same for a loop that is busy, which takes less time for a request than one that mostly sleeps: wake-ups are shared, and
 * what it needs stays at hand. Measured: 1.3 to 3.7 times as much from below a third, up to 1.9 from a third.
 */
export function estimateWarmLimit(metrics: Metrics): Range | null {
  const cold = deriveLoopLimit(metrics);
  const { run, stolen } = metrics.loop ?? { run: 1, stolen: 0 };
  if (cold === null) return null;
  if (run + stolen < 0.3) return scale({ low: 1.3, high: 4 }, cold);
  return scale(run + stolen < 0.6 ? { low: 1, high: 2 } : { low: 0.9, high: 1 }, cold);
}

/** What the server can give by all that was seen of it: its loops, its CPU on all threads, its bounded pools of sockets. */
function estimateServerLimit(metrics: Metrics): number | null {
  const loops = deriveLoopLimit(metrics);
  const { outside, inside } = metrics.base;
  if (loops === null || !outside) return null;
  const byCores = (outside.cpu.cores * metrics.throughput) / Math.max(0.01, outside.cpu.server);
  const byPools = (inside?.outbound ?? []).flatMap(({ maxSockets, answerMs, rate: calls }) =>
    maxSockets && answerMs && calls > 0
      ? [((maxSockets * 1000) / answerMs) * (metrics.throughput / calls)]
      : [],
  );
  return Math.min(loops, byCores, ...byPools);
}

/** What more connections gave where they queued, else what the loops can give: by what was tried, where they are warmer than at the load as asked for. */
export function estimateMaxThroughput(metrics: Metrics): number | null {
  const { connectionRamp } = metrics;
  if (!connectionRamp) return estimateServerLimit(metrics);
  return connectionRamp.isQueueing
    ? connectionRamp.throughput
    : Math.max(connectionRamp.throughput, connectionRamp.loopLimit);
}

/** Busy time that the probe adds per request in the experiment, ms: enough to show, little enough to bear. */
export function computeInjectedMs({ base }: Metrics): number {
  const busy = base.inside?.utilisation ?? 0;
  const each = (busy >= SATURATED ? computeBusyMs(base) : computeCpuMs(base)) ?? 0.1;
  return Math.min(20, Math.max(0.02, each * 0.6));
}

export function buildLoopEvidence({ loop, base }: Metrics): Evidence[] {
  if (!loop) return [];
  const source = loop.isFromProbe ? 'probe' : 'proc';
  const inside = base.inside;
  return [
    { what: 'event loop busy', value: loop.busy, unit: '1', source },
    { what: 'main thread on a core', value: loop.run, unit: '1', source: 'proc' },
    { what: 'CPU time of the loop per response', value: loop.cpuMs, unit: 'ms', source: 'proc' },
    ...(inside ? [{ what: 'in handlers', value: inside.inFlight, unit: 'requests', source }] : []),
  ];
}
