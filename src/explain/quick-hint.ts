import { count, plural, rate, share, time } from '../format/units.js';
import type { LoadResult } from '../load/result.js';
import { computeMaxInFlight, findStreamLimit } from '../load/streams.js';
import { isDelayedAck } from './hypotheses/connections/delayed-ack.js';
import { SATURATED } from './hypotheses/event-loop/loop-capacity.js';
import type { LimitId } from './limit-ids.js';

/** A guess at the limit from a load alone, without experiments. */
export interface Hint {
  limit: LimitId | null;
  sentence: string;
}

const MAX_IDLE_UTILISATION = 0.6;
const MAX_ERROR_SHARE = 0.01;

/**
 * Guesses the limit of a run from the run's own measurements; `null` if they say too little, or if the report says it
 * already.
 */
export function quickHint(result: LoadResult): Hint | null {
  const { requests, generator, plan, server, throughput, latencyMs, gapMs } = result;
  const responses = requests.ok + requests.statusErrors;
  if (requests.ok === 0 || generator.clientBound || result.durationMs < 1000) return null;
  if (requests.statusErrors / responses >= MAX_ERROR_SHARE) return null;
  const main = server?.threads.find(({ group }) => group === 'main');
  if (!server || !main || main.cpu === 0) return null;
  const utilization = main.cpu;
  const cpuMs = (utilization * 1000) / throughput.mean;
  const capacity = `${time(cpuMs)} of CPU per request, so one loop can serve about ${rate(1000 / cpuMs)} req/s`;
  if (plan.model === 'open') {
    if (result.warnings.some(({ id }) => id === 'rate-not-reached')) return null;
    return {
      limit: null,
      sentence: `it keeps up: the main thread is ${share(Math.min(1, utilization))} busy (${capacity}).`,
    };
  }
  const most = findStreamLimit(result);
  const maxConcurrency = computeMaxInFlight(result);
  if (utilization >= SATURATED && main.threads <= 2) {
    return {
      limit: 'event-loop-cpu',
      sentence: `likely the event loop: its thread is ${share(Math.min(1, utilization))} busy (${capacity}).`,
    };
  }
  if (utilization > MAX_IDLE_UTILISATION) return null;
  const meanSeconds = (latencyMs.mean ?? 0) / 1000;
  const gapMedianMs = gapMs.p50 ?? 0;
  if (gapMs.count > responses / 5 && isDelayedAck(gapMedianMs)) {
    return {
      limit: 'nagle-delayed-ack',
      sentence: `likely Nagle's algorithm with delayed acknowledgements: the last byte of a response follows the first after ${time(gapMedianMs)}.`,
    };
  }
  if (most !== null) {
    return {
      limit: 'max-concurrent-streams',
      sentence: `likely too few streams: the main thread is only ${share(utilization)} busy, and the server allows ${plural(most, 'stream')} per connection, ${count(maxConcurrency)} requests in flight in all.`,
    };
  }
  return {
    limit: 'too-few-connections',
    sentence: `likely too few connections: the main thread is only ${share(utilization)} busy, and ${count(maxConcurrency)} in flight / ${time(latencyMs.mean)} = ${rate(maxConcurrency / meanSeconds)} req/s, unless they are queued inside the server.`,
  };
}
