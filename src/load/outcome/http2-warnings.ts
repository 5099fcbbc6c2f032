import { count, plural, share, time } from '../../format/units.js';
import type { LoadResult } from '../result.js';
import { findStreamLimit } from '../streams.js';

/** Share of the requests whose wait for a window is worth a warning. */
const NOTED_WAITS = 0.01;

/** Warns of streams that a server does not allow, whose requests wait. */
export function checkMaxConcurrentStreams(result: LoadResult): string | null {
  const { plan } = result;
  const most = findStreamLimit(result);
  if (most === null || (plan.model === 'open' && !hasWaited(result))) return null;
  const rest = plan.pipelining - most;
  const others = rest === 1 ? 'the other one waits' : `the other ${count(rest)} wait`;
  const waits = plan.model === 'open' ? 'arrivals beyond that wait' : others;
  return `The server allows ${plural(most, 'stream')} per connection (MAX_CONCURRENT_STREAMS), and -p is ${count(plan.pipelining)}: ${waits}, and their wait is part of the latency. More connections (-c) carry more.`;
}

/** Whether arrivals waited for longer than they took by more than a small part. */
function hasWaited({ latencyMs, serviceTimeMs }: LoadResult): boolean {
  const [latency, service] = [latencyMs.mean, serviceTimeMs.mean];
  return latency === null || service === null || latency - service > NOTED_WAIT * latency;
}

/** Share of the latency that a wait must be, to be worth a warning. */
const NOTED_WAIT = 0.05;

/** Warns of bodies that waited for flow-control windows of the server. */
export function checkWindowWaits({ windowWaits, requests, latencyMs }: LoadResult): string | null {
  const { requests: waited, totalMs } = windowWaits;
  const part = waited / Math.max(requests.sent, 1);
  if (part < NOTED_WAITS) return null;
  // The mean latency is that of all requests, and so is this part of it.
  const of =
    latencyMs.mean === null
      ? ''
      : `, ${time(totalMs / requests.sent)} of the mean latency of ${time(latencyMs.mean)}`;
  return `The bodies of ${plural(waited, 'request')} (${share(part)}) waited for a flow-control window of the server, ${time(totalMs / waited)} each on average${of}: the server limits how much is sent before it has read. Larger windows there shorten the wait.`;
}
