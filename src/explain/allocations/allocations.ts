import type { AllocationProfile, AllocationTree } from '../../probe/protocol.cjs';
import { FlameGraphBuilder } from '../flame-graph/builder.js';
import { findHeaviestPaths } from '../flame-graph/paths.js';
import { FrameResolver } from '../profile/frame-resolver.js';
import type { Allocations, FlameFrame } from '../result.js';

/** Memory of Buffers and other ArrayBuffers: V8 does not sample it, so that its place is unknown. */
const OUTSIDE: FlameFrame = {
  name: '(Buffers outside the heap, at least)',
  place: '',
  origin: 'none',
};

/** Builds the graph of allocated bytes per request, of the process that answered most; `null` if none answered. */
export function buildAllocations(profiles: readonly AllocationProfile[]): Allocations | null {
  const [busiest] = [...profiles].sort((a, b) => b.requests - a.requests);
  if (!busiest || busiest.requests === 0) return null;
  const { tree, requests, outsideBytes } = busiest;
  const builder = new FlameGraphBuilder('bytes');
  const paths = listPaths(tree);
  for (const [node, path] of paths.entries()) {
    const bytes = tree.bytes[node] ?? 0;
    if (bytes > 0) builder.add(path, bytes / requests);
  }
  if (outsideBytes >= requests) builder.add([OUTSIDE], outsideBytes / requests);
  const graph = builder.build();
  return { graph, heaviest: findHeaviestPaths(graph), growth: null, pausedMs: null };
}

/**
 * Lists the frames that lead to each node of a tree, outermost first, without its root. The place of a frame is where the
 * function begins: V8 does not note the line that allocates.
 */
export function listPaths(tree: AllocationTree): FlameFrame[][] {
  const resolver = new FrameResolver();
  const frames = tree.frames.map((frame) => resolver.resolve(frame));
  const paths: FlameFrame[][] = [];
  for (const [node, parent] of tree.parents.entries()) {
    const frame = frames[tree.frameOf[node] ?? -1];
    // The root is no function. A parent comes before its children.
    paths.push(parent < 0 || !frame ? [] : [...(paths[parent] ?? []), frame]);
  }
  return paths;
}
