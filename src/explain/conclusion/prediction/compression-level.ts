import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import { readPoolSize } from '../../hypotheses/machine/pool-size.js';
import type { LimitId } from '../../limit-ids.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';

/** Maximum speed of Brotli's highest levels (10 and 11) for text, bytes per ms of CPU. */
const MAX_SLOW_BYTES_PER_MS = 6_000; // Source: bench brotli-feed: 25 kB take some 35 ms at level 11
/** Speed of its levels 4 and 5. */
const LOWER_LEVEL_BYTES_PER_MS: Interval = { low: 22_000, high: 90_000 }; // Source: judgment, held to bench brotli-feed

/** Whether responses are compressed by Brotli at a level that costs a multiple of the usual ones. */
export function hasSlowLevel(limit: LimitId, metrics: Metrics): boolean {
  if (limit !== 'compression') return false;
  const { sample, identityBytes, base, throughput } = metrics;
  if (sample?.headers['content-encoding'] !== 'br' || identityBytes === null) return false;
  const cpuMs = ((base.outside?.cpu.server ?? 0) * 1000) / Math.max(1e-6, throughput);
  return identityBytes / cpuMs <= MAX_SLOW_BYTES_PER_MS;
}

/**
 * Predicts throughput with Brotli at level 4 or 5: 1 / (1 / throughput without compression + time of the compression /
 * cores). `null` where the level is not high, or throughput without compression is unknown.
 */
export function predictLowerLevel(
  { limit }: Hypothesis,
  { metrics, experiments }: Findings,
): Interval | null {
  const identity = experiments.find(({ name }) => name === 'identity-encoding');
  const { identityBytes, base, throughput, loop } = metrics;
  if (!identity || identityBytes === null || !hasSlowLevel(limit, metrics)) return null;
  const loops = findWorkingProcesses(base).length;
  const threads = Math.min(base.outside?.cpu.cores ?? 1, readPoolSize(metrics));
  const cores = Math.max(1, (loop?.run ?? 0) >= MIN_LOOP_RUN ? loops : threads);
  const withoutMs = 1000 / (throughput * identity.measured.ratio);
  const at = (speed: number) => 1000 / (withoutMs + identityBytes / speed / cores);
  return { low: at(LOWER_LEVEL_BYTES_PER_MS.low), high: at(LOWER_LEVEL_BYTES_PER_MS.high) };
}

/** Minimum share of the time for which the loop is on a core if it compresses itself, not in the thread pool. */
const MIN_LOOP_RUN = 0.5;
