import type { FlameGraph } from '../../explain/result.js';
import { splitPlace } from './pprof.js';

/** A node of V8's sampling heap profile in the format of the DevTools protocol. Lines count from 0. */
interface HeapNode {
  callFrame: {
    functionName: string;
    scriptId: string;
    url: string;
    lineNumber: number;
    columnNumber: number;
  };
  /** Bytes per request. */
  selfSize: number;
  id: number;
  children: HeapNode[];
}

/** Formats a graph of allocations as V8's heap profile, which DevTools and speedscope open. */
export function formatHeapProfile(graph: FlameGraph): string {
  const head = createNode({ name: '(root)', place: '' }, 0, 0);
  const nodes: HeapNode[] = [];
  for (const [index, parent] of graph.parents.entries()) {
    const frame = graph.frames[graph.frameOf[index] ?? -1] ?? { name: '', place: '' };
    const node = createNode(frame, Math.round(graph.self[index] ?? 0), index + 1);
    nodes.push(node);
    (nodes[parent] ?? head).children.push(node);
  }
  const samples = nodes
    .filter(({ selfSize }) => selfSize > 0)
    .map(({ id, selfSize }, ordinal) => ({ size: selfSize, nodeId: id, ordinal: ordinal + 1 }));
  return JSON.stringify({ head, samples });
}

function createNode(
  { name, place }: { name: string; place: string },
  selfSize: number,
  id: number,
): HeapNode {
  const { file: url, line } = splitPlace(place);
  const callFrame = {
    ...{ functionName: name, scriptId: '0', url },
    ...{ lineNumber: line - 1, columnNumber: -1 },
  };
  return { callFrame, selfSize, id, children: [] };
}
