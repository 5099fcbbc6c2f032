import { findWorkingProcesses, listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Observation } from '../../observe/types.js';

/** Counts the pool threads of all processes, each of which has its own pool. */
export function countPoolThreads(base: Observation, size: number): number {
  return Math.max(1, findWorkingProcesses(base).length) * size;
}

/** Lists the busiest threads besides those of the event loops, as many as the pools have. */
export function listPoolThreads(metrics: Metrics): ReturnType<typeof listOtherThreads> {
  const { base } = metrics;
  const threads = countPoolThreads(base, readPoolSize(metrics));
  return listOtherThreads(base)
    .sort((a, b) => b.run - a.run)
    .slice(0, threads);
}

/** Default size of libuv's thread pool. */
const DEFAULT_POOL_SIZE = 4;

/** Maximum size of libuv's thread pool. */
const MAX_POOL_SIZE = 1024;

/** Reads the size of each process's pool. libuv parses its variable with `atoi` and accepts 1 to 1024. */
export function readPoolSize({ base }: Metrics): number {
  const configured = base.inside?.threadPoolSize ?? null;
  if (configured === null) return DEFAULT_POOL_SIZE;
  return Math.min(MAX_POOL_SIZE, Math.max(1, Number.parseInt(configured, 10) || 1));
}

/** Computes the pool size that is tried and proposed: four times the present one. */
export function proposePoolSize(metrics: Metrics): number {
  return Math.min(MAX_POOL_SIZE, 4 * readPoolSize(metrics));
}
