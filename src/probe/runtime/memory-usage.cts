import { getHeapStatistics } from 'node:v8';
import type { MemoryUsage } from '../protocol.cjs';

/** Maximum number of active resources to list; listing more is expensive. */
const MAX_RESOURCES = 10_000;
let hasTooMany = false;

/** Reads memory and active resources. */
export function readMemoryUsage(heapAfterOld: number | null): MemoryUsage {
  const { heapUsed, external, rss } = process.memoryUsage();
  const { heap_size_limit: heapLimit } = getHeapStatistics();
  return { heapUsed, heapLimit, heapAfterOld, external, rss, resources: countResources() };
}

function countResources(): Record<string, number> | null {
  if (hasTooMany) return null;
  const names = process.getActiveResourcesInfo();
  hasTooMany = names.length > MAX_RESOURCES;
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
