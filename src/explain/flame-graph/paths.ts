import type { FlameFrame, FlameGraph, HeavyPath } from '../result.js';

/** Number of paths that reports list. */
const MAX_PATHS = 5;

/** Computes the total weight of each node of a graph, callees included. */
export function computeTotals({ parents, self }: FlameGraph): number[] {
  const totals = [...self];
  // A parent comes before its children.
  for (let node = totals.length - 1; node >= 0; node--) {
    const parent = parents[node] ?? -1;
    if (parent >= 0) totals[parent] = (totals[parent] ?? 0) + (totals[node] ?? 0);
  }
  return totals;
}

/** Sums the weights of a graph. */
export function sumWeights({ self }: FlameGraph): number {
  return self.reduce((sum, weight) => sum + weight, 0);
}

/**
 * Finds the heaviest paths through the service's own code. The weight of each node counts for the path of application
 * frames that leads to it, so that the paths do not overlap.
 */
export function findHeaviestPaths(graph: FlameGraph): HeavyPath[] {
  const sum = sumWeights(graph);
  const paths = new Map<string, HeavyPath>();
  // By node: the frames of the application that lead to it.
  const frames: FlameFrame[][] = [];
  graph.parents.forEach((parent, node) => {
    const frame = graph.frames[graph.frameOf[node] ?? -1];
    const before = frames[parent] ?? [];
    const path = frame?.origin === 'application' ? [...before, frame] : before;
    frames[node] = path;
    const weight = graph.self[node] ?? 0;
    if (path.length === 0 || weight === 0) return;
    const key = path.map(({ name, place }) => `${name}\n${place}`).join('\n');
    const known = paths.get(key) ?? { frames: path, weight: 0, share: 0 };
    known.weight += weight;
    known.share = known.weight / sum;
    paths.set(key, known);
  });
  return [...paths.values()].sort((a, b) => b.weight - a.weight).slice(0, MAX_PATHS);
}
