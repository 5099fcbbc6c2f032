import type { Findings } from '../findings.js';
import { findHeaviestPaths } from '../flame-graph/paths.js';
import { computePoolLimit, SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import { LIMITS } from '../limits/limits.js';
import type { ProcessCpu } from '../profile/capture.js';
import type { CpuTimes } from '../result.js';
import { computeLoadBound } from './prediction/load-bound.js';
import { isKeepingUp } from './verdict.js';

/** Builds the CPU time of the busiest process, with what its heaviest paths cost. */
export function buildCpuTimes(
  { pid, busy, graph, hotLines }: ProcessCpu,
  found: Findings,
): CpuTimes {
  const heaviest = findHeaviestPaths(graph).map((path) => ({
    ...path,
    hotLine: hotLines.find(path.frames),
    throughputCost: computeThroughputCost(path.share, found),
  }));
  return { pid, busy, graph, heaviest };
}

/** Maximum share of a path: of the rest of the time, a profile of two seconds says little. */
const MAX_SHARE = 0.95;

/**
 * Computes the requests per second that a path costs which takes a share s of a busy loop's time: without it a request
 * takes 1 - s of the time, so the loop serves T / (1 - s), and the path costs T / (1 - s) - T. Other limits may be
 * reached before: what the load asks for, bounded pools of sockets, and what a server serves that does nothing. `null`
 * if the loop is not the limit.
 */
function computeThroughputCost(share: number, found: Findings): number | null {
  const { metrics, finding, baselineThroughput, referenceThroughput } = found;
  const { chosen } = finding;
  const isLoopBusy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  if (!chosen || !isLoopBusy || isKeepingUp(metrics) || !LIMITS[chosen.limit].savesLoopTime)
    return null;
  const without = Math.min(
    baselineThroughput / (1 - Math.min(MAX_SHARE, share)),
    computeLoadBound(chosen, found) ?? Number.POSITIVE_INFINITY,
    computePoolLimit(metrics),
    referenceThroughput ?? Number.POSITIVE_INFINITY,
  );
  return Math.max(0, without - baselineThroughput);
}
