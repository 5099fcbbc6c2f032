import { performance } from 'node:perf_hooks';

interface LoopMetrics {
  loopCount: number;
  events: number;
}

/** Times and counts of the event loop since it began. `loops` and `events` are 0 before Node.js 20.18. */
export interface LoopTimes {
  idleMs: number;
  activeMs: number;
  loops: number;
  events: number;
}

const timing = performance.nodeTiming as { uvMetricsInfo?: LoopMetrics };
export const hasEventCounts = timing.uvMetricsInfo !== undefined;
const utilization = performance.eventLoopUtilization.bind(performance);

export function readLoopTimes(): LoopTimes {
  const { idle, active } = utilization();
  const { loopCount = 0, events = 0 } = timing.uvMetricsInfo ?? {};
  return { idleMs: idle, activeMs: active, loops: loopCount, events };
}

/** Reads the time that the loop has waited for events. */
export function readIdleMs(): number {
  return utilization().idle;
}
