// What the reports say of the paths of flame graphs, in words.
import { findMainCallee, sumOutside } from '../../explain/flame-graph/paths.js';
import type {
  Explanation,
  FlameGraph,
  GrowingClass,
  HeavyPath,
  Waits,
} from '../../explain/result.js';
import { amount } from '../../format/ratios.js';
import { bytes, rate, share } from '../../format/units.js';
import { ORIGINS } from '../flame-graph/origins.js';

/** A heavy path in words. */
export interface DescribedPath {
  /** Its share of the graph. */
  share: string;
  /** The innermost function: `hash (server.js:12)`. */
  where: string;
  /** How it is reached and what it calls: `called by handler (server.js:30), mostly in digest`, or the hottest line; may be empty. */
  how: string;
  /** What it costs: `1,240 req/s`, `12.4 requests`, `1.02 kB per request`; may be empty. */
  weight: string;
}

/** Maximum number of callers that are named. */
const MAX_CALLERS = 2;

/** Describes the heaviest paths of CPU time. */
export function describeCpuPaths({ cpu }: Explanation): DescribedPath[] {
  return (cpu?.heaviest ?? []).map((path) => ({
    ...describePath(path, cpu?.graph ?? null, path.hotLine),
    weight: path.throughputCost === null ? '' : `${rate(path.throughputCost)} req/s`,
  }));
}

/** Describes how much of the waits is attributed, and what observing them costs. */
export function describeWaits({ attributed, cost }: Waits): string {
  const lost = cost && share(Math.max(0, 1 - cost.ratio));
  return `${share(attributed)} are attributed to code${lost ? `; observing them costs ${lost} of throughput` : ''}`;
}

/** Describes the heaviest paths of waits: `where` begins with what is waited for. */
export function describeWaitPaths(heaviest: readonly HeavyPath[]): DescribedPath[] {
  return heaviest.map((path) => {
    const described = describePath(path, null);
    const { waitsFor } = path;
    return {
      ...described,
      where: waitsFor === undefined ? described.where : `${waitsFor}, in ${described.where}`,
      weight: `${amount(path.weight)} requests`,
    };
  });
}

/** Describes the paths that allocate most. */
export function describeAllocationPaths({ allocations }: Explanation): DescribedPath[] {
  return (allocations?.heaviest ?? []).map((path) => ({
    ...describePath(path, null),
    weight: `${bytes(path.weight)} per request`,
  }));
}

/** Describes a class that grows: how much, where it was allocated, what retains it. */
export function describeGrowth({
  name,
  objectsPerRequest,
  bytesPerRequest,
  allocatedAt,
  retainedBy,
}: GrowingClass): string {
  const origin = allocatedAt ? `, allocated in ${formatFrame(allocatedAt)}` : '';
  const holders = retainedBy.length > 0 ? `, retained by ${retainedBy.join(', ')}` : '';
  return `${name}: ${amount(objectsPerRequest)} objects and ${bytes(bytesPerRequest)} per request${origin}${holders}`;
}

/** Describes the CPU time that is outside the service's own code; empty without any. */
export function describeOutside({ cpu }: Explanation): string {
  if (!cpu) return '';
  const parts = sumOutside(cpu.graph).filter(([, part]) => part >= 0.005);
  return parts.map(([origin, part]) => `${ORIGINS[origin]} ${share(part)}`).join(', ');
}

function describePath(
  path: HeavyPath,
  graph: FlameGraph | null,
  hotLine: string | null = null,
): Omit<DescribedPath, 'weight'> {
  const frames = [...path.frames].reverse();
  const [last, ...outer] = frames;
  const callers = outer.slice(0, MAX_CALLERS).map(formatFrame);
  const callee = graph && findMainCallee(graph, path);
  const how = [
    ...(callers.length > 0 ? [`called by ${callers.join(', by ')}`] : []),
    ...(callee ? [`mostly in ${callee.name}`] : []),
    ...(hotLine && hotLine !== last?.place ? [`mostly at line ${hotLine.split(':').at(-1)}`] : []),
  ];
  return {
    share: share(path.share),
    where: last ? formatFrame(last) : '',
    how: how.join(', '),
  };
}

function formatFrame({ name, place }: { name: string; place: string }): string {
  return place === '' ? name : `${name} (${place})`;
}
