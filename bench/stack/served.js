// What came of the requests of runs: how many failed, and who served them. Pure.
import { formatCount, formatShare } from '../documents/table.js';

/** Maximum share of failed requests in a valid run. */
const MAX_FAILED = 0.001;

/** Throws if too many requests of a run failed. */
export function refuseFailed({ requests, errors, errorKinds = [] }) {
  if (requests > 0 && errors <= MAX_FAILED * requests) return;
  throw new Error([`${errors} of ${requests} requests failed`, ...errorKinds].join(', '));
}

/** Formats the share of the requests that Millrace served natively, by its own counters. */
export function formatNativeShare(runs) {
  const reported = runs.map(({ served }) => served).filter(Boolean);
  const native = reported.reduce((sum, one) => sum + one.native, 0);
  const all = reported.reduce((sum, one) => sum + one.native + one.fallback, 0);
  return all > 0 ? formatShare(native / all) : '-';
}

/** Formats the reasons why Node's own code served some requests. */
export function formatFallbacks(runs) {
  const sums = {};
  for (const { served } of runs) {
    for (const [why, times] of Object.entries(served?.fallbackReasons ?? {})) {
      sums[why] = (sums[why] ?? 0) + times;
    }
  }
  return Object.entries(sums).map(
    ([why, times]) => `- handed over to Node: ${why}, ${formatCount(times)}`,
  );
}
