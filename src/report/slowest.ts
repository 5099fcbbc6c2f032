import { formatStatus } from '../load/grpc-statuses.js';
import type { SlowRequest } from '../load/result.js';

/** Formats how a slow request ended: `200`, `timeout`, or that it was in flight at the end. */
export function formatEnd({ status, error }: SlowRequest): string {
  if (status !== null) return formatStatus(status);
  return error ?? 'in flight';
}
