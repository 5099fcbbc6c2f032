import { rate, share } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import type { Hypothesis } from '../hypothesis.js';

/** Minimum share of the loop's busy time at which garbage collection is a limit. */
export const MIN_GC_SHARE = 0.12;

/** Describes collections that take a share of the loop's busy time, whichever objects they collect. */
export function describeGcShare(
  part: number,
  { throughput }: Metrics,
): Pick<Hypothesis, 'causeOf' | 'loopShare' | 'weight' | 'arithmetic'> {
  return {
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(1, 0.5 + part),
    arithmetic: [
      `without it: ${rate(throughput)} req/s / (1 - ${share(part)}) = at most ${rate(throughput / (1 - part))} req/s`,
    ],
  };
}

/** Raises the maximum gain, as the threads that occupy the core that the loop waits for may all be the collector's. */
export function includeFreedCore({ low, high }: Interval, metrics: Metrics): Interval {
  return { low, high: high / (1 - computeWaitForOwnThreads(metrics)) };
}

/** Computes the share of the loop's busy time for which it waits for a core that the server's other threads use. */
function computeWaitForOwnThreads({ base, loop }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu || !loop) return 0;
  const own = Math.max(
    0,
    cpu.server - findWorkingProcesses(base).reduce((sum, { main }) => sum + main.run, 0),
  );
  const all = own + cpu.self + cpu.others;
  const queued = Math.min(0.9, loop.queued / Math.max(0.05, loop.busy));
  return all === 0 ? 0 : (queued * own) / all;
}

export function describeIdleLoop({ busy }: Loop): string {
  return `the event loop is only ${share(busy)} busy`;
}
