import { usageError } from '../../../errors/millrace-error.js';
import type { NativePlan } from '../../../native/addon.js';
import type { PlanShare, PlanSummary } from '../../result.js';
import type { Segment } from './read-segment.js';

type Summary = Omit<PlanSummary, 'addresses'>;

/** What a run and its share have in different numbers. */
interface Divisible {
  native: NativePlan;
  summary: Summary;
}

/**
 * Divides a run into shares, and returns the one of `segment`. The schedule remains that of the whole run: the engine takes
 * the share's arrivals out of it. Remainders go to the first shares.
 */
export function dividePlan<Plan extends Divisible>(plan: Plan, segment: Segment): Plan {
  const { native, summary } = plan;
  const divided = divideCounts(summary, segment, connectionsOfShare(native));
  const { connections, initialConnections, connectionStages, threads } = divided;
  const { requests, maxPending, flows } = divided;
  return {
    ...plan,
    native: {
      ...native,
      ...{ connections, initialConnections, connectionStages, threads },
      ...(requests !== null && { maxRequests: requests }),
      ...(maxPending !== null && { maxPending }),
      ...(native.flows && flows && { flows: { ...native.flows, users: flows.users } }),
      segment: segment.index - 1,
      segments: segment.count,
      // Shares are merged.
      windowLatencies: true,
    },
    summary: { ...divided, segment: { ...segment, whole: describeWhole(summary) } },
  };
}

/** Returns how many connections a share needs at least: in an open run each server has connections of its own. */
export function connectionsOfShare({ startRate, origins }: NativePlan): number {
  return startRate === undefined ? 1 : origins.length;
}

function divideCounts(summary: Summary, { index, count }: Segment, servers: number): Summary {
  const part = (total: number) => Math.floor(total / count) + (index <= total % count ? 1 : 0);
  const atLeastOne = (total: number, what: string, places = 1) => {
    if (total >= count * places) return part(total);
    const each = places === 1 ? 'share' : `of ${count} shares and ${places} servers`;
    throw usageError(
      `segment ${index}/${count}: ${what} of the whole run must be at least ${count * places}, one for each ${each} (got ${total})`,
    );
  };
  const { rate, stages, requests, maxPending, flows } = summary;
  const connections = atLeastOne(summary.connections, 'connections', servers);
  return {
    ...summary,
    connections,
    initialConnections: Math.max(1, part(summary.initialConnections)),
    connectionStages: summary.connectionStages.map((stage) => ({
      ...stage,
      connections: part(stage.connections),
    })),
    threads: Math.min(summary.threads, Math.floor(connections / servers)),
    rate: rate === null ? null : rate / count,
    stages: stages.map((stage) => ({ ...stage, rate: stage.rate / count })),
    requests: requests === null ? null : atLeastOne(requests, 'requests'),
    maxPending: maxPending === null ? null : Math.max(1, part(maxPending)),
    ...(flows && { flows: { ...flows, users: atLeastOne(flows.users, 'users') } }),
  };
}

function describeWhole(summary: Summary): PlanShare {
  const { connections, initialConnections, connectionStages, rate, stages } = summary;
  const { requests, maxPending, flows } = summary;
  return {
    ...{ connections, initialConnections, connectionStages, rate, stages, requests, maxPending },
    ...(flows && { users: flows.users }),
  };
}
