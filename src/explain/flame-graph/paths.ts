import type { FlameFrame, FlameGraph, FrameOrigin, HeavyPath } from '../result.js';

/** Maximum number of paths that reports list, and the minimum share of one. */
const MAX_PATHS = 5;
const MIN_SHARE = 0.005;

/** Selects the paths that reports list, heaviest first. */
export function selectHeaviest(paths: Iterable<HeavyPath>): HeavyPath[] {
  return [...paths]
    .filter(({ share }) => share >= MIN_SHARE)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_PATHS);
}

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

/** Minimum part of a path's weight from which on a callee is named as what it mainly calls. */
const MIN_MAIN_PART = 0.5;

/**
 * Finds what the functions of a path mainly call outside the service's own code; `null` if that is no single callee.
 */
export function findMainCallee(graph: FlameGraph, path: HeavyPath): FlameFrame | null {
  const wanted = toPathKey(path.frames);
  const weights = new Map<FlameFrame, number>();
  forEachPath(graph, ({ path: frames, callee }, weight) => {
    if (callee && toPathKey(frames) === wanted)
      weights.set(callee, (weights.get(callee) ?? 0) + weight);
  });
  const [heaviest] = [...weights].sort(([, a], [, b]) => b - a);
  return heaviest && heaviest[1] >= MIN_MAIN_PART * path.weight ? heaviest[0] : null;
}

/** Sums the weights outside the service's own code by the origin of the innermost frame, heaviest first. */
export function sumOutside(graph: FlameGraph): [origin: FrameOrigin, share: number][] {
  const sum = sumWeights(graph);
  const weights = new Map<FrameOrigin, number>();
  forEachPath(graph, ({ path, frame }, weight) => {
    if (path.length > 0 || weight === 0) return;
    weights.set(frame.origin, (weights.get(frame.origin) ?? 0) + weight / sum);
  });
  return [...weights].sort(([, a], [, b]) => b - a);
}

/** A node with the frames of the application that lead to it, and the first callee of the last of them. */
interface PathTo {
  frame: FlameFrame;
  path: FlameFrame[];
  callee: FlameFrame | null;
}

/** Visits each node with its own weight. */
function forEachPath(graph: FlameGraph, visit: (to: PathTo, weight: number) => void): void {
  const paths: PathTo[] = [];
  graph.parents.forEach((parent, node) => {
    const frame = graph.frames[graph.frameOf[node] ?? -1];
    if (!frame) return;
    const { path, callee } = paths[parent] ?? { path: [], callee: null };
    const to =
      frame.origin === 'application'
        ? { frame, path: [...path, frame], callee: null }
        : { frame, path, callee: callee ?? frame };
    paths[node] = to;
    visit(to, graph.self[node] ?? 0);
  });
}

/** Makes a key of a path: equal paths have equal keys. */
export function toPathKey(frames: readonly FlameFrame[]): string {
  return frames.map(({ name, place }) => `${name}\n${place}`).join('\n');
}

/**
 * Finds the heaviest paths through the service's own code. The weight of each node counts for the path of application
 * frames that leads to it, so that the paths do not overlap.
 */
export function findHeaviestPaths(graph: FlameGraph): HeavyPath[] {
  const sum = sumWeights(graph);
  const paths = new Map<string, HeavyPath>();
  forEachPath(graph, ({ path }, weight) => {
    if (path.length === 0 || weight === 0) return;
    const key = toPathKey(path);
    const known = paths.get(key) ?? { frames: path, weight: 0, share: 0 };
    known.weight += weight;
    known.share = known.weight / sum;
    paths.set(key, known);
  });
  return selectHeaviest(paths.values());
}
