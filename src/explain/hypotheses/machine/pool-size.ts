import { findWorkingProcesses, listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Observation, ThreadUse } from '../../observe/types.js';

/** Counts the pool threads of all processes, each of which has its own pool. */
export function countPoolThreads(base: Observation, size: number): number {
  return Math.max(1, findWorkingProcesses(base).length) * size;
}

/** Whether a thread belongs to libuv's thread pool by its name, which libuv gives since 1.50. */
export function isNamedPoolThread({ name }: ThreadUse): boolean {
  return name === 'libuv-worker';
}

/**
 * Lists the threads of the pools, the busiest first. Where they have no names, these are the busiest threads besides
 * those of the event loops, as many as the pools have.
 */
export function listPoolThreads(metrics: Metrics): ThreadUse[] {
  const { base } = metrics;
  const others = listOtherThreads(base).sort((a, b) => b.run - a.run);
  const named = others.filter(isNamedPoolThread);
  const threads = named.length > 0 ? named : others;
  return threads.slice(0, countPoolThreads(base, readPoolSize(metrics)));
}

/** Default size of libuv's thread pool. */
export const DEFAULT_POOL_SIZE = 4; // Source: libuv: UV_THREADPOOL_SIZE

/** Maximum size of libuv's thread pool. */
const MAX_POOL_SIZE = 1024; // Source: libuv: UV_THREADPOOL_SIZE

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
