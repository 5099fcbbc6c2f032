import type { HeapSnapshot } from './heap-snapshot.js';

/** V8's type of a node. */
export function findType({ nodeTypes, typeOf }: HeapSnapshot, node: number): string {
  return nodeTypes[typeOf[node] ?? 0] ?? '';
}

/** V8's name of a node. */
export function findName({ strings, nameOf }: HeapSnapshot, node: number): string {
  return strings.get(nameOf[node] ?? 0);
}

export function isNamed({ strings, nameOf }: HeapSnapshot, node: number, name: string): boolean {
  return nameOf[node] === strings.indexOf(name);
}

/** V8's type of an edge. */
export function findEdgeType({ edgeTypes, edgeTypeOf }: HeapSnapshot, edge: number): string {
  return edgeTypes[edgeTypeOf[edge] ?? 0] ?? '';
}

/** Whether the edges of a type have numbers instead of names. */
export function isNumbered(edgeType: string): boolean {
  return edgeType === 'element' || edgeType === 'hidden';
}

/** Returns the node to which the named edge of a node leads; `null` if it has none. */
export function findEdge(snapshot: HeapSnapshot, node: number, name: string): number | null {
  const { firstEdge, edgeNameOf, targetOf, strings } = snapshot;
  const wanted = strings.indexOf(name);
  if (wanted < 0) return null;
  for (let edge = firstEdge[node] ?? 0; edge < (firstEdge[node + 1] ?? 0); edge++) {
    if (edgeNameOf[edge] === wanted && !isNumbered(findEdgeType(snapshot, edge)))
      return targetOf[edge] ?? null;
  }
  return null;
}

/** Lists the nodes to which the edges of a node lead. */
export function listTargets({ firstEdge, targetOf }: HeapSnapshot, node: number): number[] {
  return [...targetOf.subarray(firstEdge[node], firstEdge[node + 1])];
}
