import type { FlameFrame, FlameGraph } from '../result.js';

/** Maximum number of nodes of a graph: a page with this many is still drawn at once. */
const MAX_NODES = 10_000;

interface Node {
  frame: number;
  self: number;
  total: number;
  readonly children: Map<number, Node>;
}

/** Collects weighted paths of frames, and merges them into a flame graph. */
export class FlameGraphBuilder {
  readonly #unit: FlameGraph['unit'];
  readonly #frames: FlameFrame[] = [];
  readonly #frameIds = new Map<string, number>();
  readonly #roots = new Map<number, Node>();
  readonly #nodes: Node[] = [];

  constructor(unit: FlameGraph['unit']) {
    this.#unit = unit;
  }

  /** Adds a weight to a path of frames, outermost first. */
  add(path: readonly FlameFrame[], weight: number): void {
    let parent: Node | null = null;
    for (const frame of path) {
      parent = this.#findOrAdd(parent, this.#number(frame));
      parent.total += weight;
    }
    if (parent) parent.self += weight;
  }

  /** Builds the graph: the heaviest nodes, heaviest siblings first. The weight of a lighter node is its parent's own. */
  build(): FlameGraph {
    const heaviest = [...this.#nodes].sort((a, b) => b.total - a.total).slice(0, MAX_NODES);
    // A node's total is at most its parent's, and a parent is older: with a stable sort it is kept if its child is.
    const kept = new Set(heaviest);
    const graph: FlameGraph = {
      ...{ unit: this.#unit, frames: [], parents: [], frameOf: [], self: [] },
    };
    const used = new Map<number, number>();
    const visit = (siblings: Iterable<Node>, parent: number) => {
      for (const node of [...siblings].sort((a, b) => b.total - a.total)) {
        if (!kept.has(node)) continue;
        const index = graph.parents.length;
        graph.parents.push(parent);
        graph.frameOf.push(this.#renumber(graph, used, node.frame));
        graph.self.push(round(node.self + sumTotals(node.children.values(), kept)));
        visit(node.children.values(), index);
      }
    };
    visit(this.#roots.values(), -1);
    return graph;
  }

  #renumber(graph: FlameGraph, used: Map<number, number>, frame: number): number {
    const known = used.get(frame);
    if (known !== undefined) return known;
    used.set(frame, graph.frames.length);
    return graph.frames.push(this.#frames[frame] as FlameFrame) - 1;
  }

  #number(frame: FlameFrame): number {
    const key = `${frame.origin}\n${frame.name}\n${frame.place}`;
    const known = this.#frameIds.get(key);
    if (known !== undefined) return known;
    this.#frameIds.set(key, this.#frames.length);
    return this.#frames.push(frame) - 1;
  }

  #findOrAdd(parent: Node | null, frame: number): Node {
    const siblings = parent?.children ?? this.#roots;
    const known = siblings.get(frame);
    if (known) return known;
    const node: Node = { frame, self: 0, total: 0, children: new Map() };
    siblings.set(frame, node);
    this.#nodes.push(node);
    return node;
  }
}

/** Rounds a weight: sums of fractions have digits that mean nothing, and a result has many of them. */
function round(weight: number): number {
  return Number(weight.toPrecision(8));
}

/** Sums the totals of the nodes that are left out. */
function sumTotals(nodes: Iterable<Node>, kept: ReadonlySet<Node>): number {
  let sum = 0;
  for (const node of nodes) if (!kept.has(node)) sum += node.total;
  return sum;
}
