import { computeTotals } from '../../explain/flame-graph/paths.js';
import type { FlameGraph } from '../../explain/result.js';

/** Where the nodes of a graph are drawn: by node, in shares of the whole. */
export interface Layout {
  /** Sum of all weights. */
  sum: number;
  /** Distance of each node from the left. */
  from: number[];
  /** Width of each node: its weight with its callees. */
  wide: number[];
  /** Number of callers of each node. */
  depth: number[];
}

/** Lays out a graph: a node is below its caller and at the left of its siblings that follow; its own weight is at the right. */
export function layOut(graph: FlameGraph): Layout {
  const totals = computeTotals(graph);
  const sum = graph.parents.reduce(
    (all, parent, node) => (parent < 0 ? all + (totals[node] ?? 0) : all),
    0,
  );
  const layout: Layout = { sum, from: [], wide: [], depth: [] };
  // By node, and of the whole: where its next callee is.
  const next: number[] = [];
  let nextRoot = 0;
  for (const [node, parent] of graph.parents.entries()) {
    const wide = sum > 0 ? (totals[node] ?? 0) / sum : 0;
    const from = parent < 0 ? nextRoot : (next[parent] ?? 0);
    if (parent < 0) nextRoot += wide;
    else next[parent] = from + wide;
    next[node] = from;
    layout.from.push(from);
    layout.wide.push(wide);
    layout.depth.push(parent < 0 ? 0 : (layout.depth[parent] ?? 0) + 1);
  }
  return layout;
}
