import type { NativeSlowRequest } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';
import type { ErrorKind, SlowRequest } from '../result.js';

/** Builds the slowest requests with a trace context, the slowest first. */
export function buildSlowest(
  slowest: readonly NativeSlowRequest[],
  { native, names }: Plan,
): SlowRequest[] {
  return slowest.map(({ traceId, latencyMs, request, status, error }) => ({
    traceId,
    latencyMs,
    name: names[native.requests[request]?.name ?? 0] ?? '',
    status: status ?? null,
    error: (error ?? null) as ErrorKind | null,
  }));
}
