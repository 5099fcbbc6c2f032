import type { LoadResult } from './result.js';

type StreamCounts = Pick<LoadResult, 'connections' | 'plan'>;

/** Finds how many streams of HTTP/2 the server allows per connection, if those are fewer than the load asks for. */
export function findStreamLimit({ connections, plan }: StreamCounts): number | null {
  const { maxConcurrentStreams: most } = connections;
  return most !== null && most < plan.pipelining ? most : null;
}

/** The number of requests that a connection can have in flight: as asked for, within what the server allows. */
export function computeDepth(load: StreamCounts): number {
  return findStreamLimit(load) ?? load.plan.pipelining;
}

/** The number of requests that all connections can have in flight. */
export function computeMaxInFlight(load: StreamCounts): number {
  return load.plan.connections * computeDepth(load);
}
