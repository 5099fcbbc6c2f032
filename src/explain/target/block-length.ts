import type { LoadResult } from '../../load/result.js';

/** Length of a block of load: it settles first, then it is measured. */
export interface BlockLength {
  settleMs: number;
  measureMs: number;
}

/** Computes a length that covers the slow responses and still permits several rounds. */
export function computeBlockLength(
  { latencyMs, plan }: LoadResult,
  responseMs: number,
): BlockLength {
  const slowMs = Math.min(latencyMs.p99 ?? responseMs, 4 * responseMs + 1000);
  const minMs = plan.connection === 'close' ? 900 : 750;
  return {
    settleMs: Math.min(2500, Math.max(250, responseMs * 2, slowMs)),
    measureMs: Math.min(5000, Math.max(minMs, responseMs * 8, slowMs * 2)),
  };
}
