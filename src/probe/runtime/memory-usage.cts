import { getHeapStatistics } from 'node:v8';
import type { MemoryUsage } from '../protocol.cjs';

/** With more resources than this to list, listing them is no small thing. */
const MOST_RESOURCES = 10_000;
let tooMany = false;

/** Memory and active resources as they are. */
export function memoryUsage(heapAfterOld: number | null): MemoryUsage {
  const { heapUsed, external, rss } = process.memoryUsage();
  const { heap_size_limit: heapLimit } = getHeapStatistics();
  return { heapUsed, heapLimit, heapAfterOld, external, rss, resources: resources() };
}

function resources(): Record<string, number> | null {
  if (tooMany) return null;
  const names = process.getActiveResourcesInfo();
  tooMany = names.length > MOST_RESOURCES;
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
