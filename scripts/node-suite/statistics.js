// What processes with the stack write at their ends (MILLRACE_STATS_FILE): a line of JSON each, with their totals.
import { existsSync, readFileSync } from 'node:fs';

/** Adds up the lines of a file; empty if it does not exist. */
export function readStatistics(file) {
  if (!existsSync(file)) return sumParts([]);
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse);
  return sumParts(lines.map((line) => ({ processes: 1, ...line })));
}

/** `{ processes, connections: { native, fallback }, requests: { native, fallback }, fallbackReasons: { name: count } }` */
export function sumParts(parts) {
  return {
    processes: parts.reduce((total, part) => total + part.processes, 0),
    connections: addUp(parts.map((part) => part.connections)),
    requests: addUp(parts.map((part) => part.requests)),
    fallbackReasons: addUp(parts.map((part) => part.fallbackReasons)),
  };
}

function addUp(counts) {
  const total = {};
  for (const [name, count] of counts.flatMap(Object.entries))
    total[name] = (total[name] ?? 0) + count;
  return total;
}
