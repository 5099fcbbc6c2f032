import { type NumberArray, SnapshotError, SnapshotScanner, type SnapshotSink } from './scanner.js';
import { StringTable } from './string-table.js';

/** Maximum number of objects and of references: together they take about 1 GB. */
const MAX_NODES = 12_000_000;
const MAX_EDGES = 60_000_000;

/** A heap snapshot. A node is an index of the arrays of nodes, an edge of those of edges. */
export interface HeapSnapshot {
  nodeCount: number;
  /** Index of `nodeTypes`. */
  typeOf: Uint8Array;
  nodeTypes: string[];
  /** Index of `strings`. */
  nameOf: Uint32Array;
  idOf: Uint32Array;
  sizeOf: Float64Array;
  /** The first edge of each node, and the end of the last one's. Empty if edges were not read. */
  firstEdge: Uint32Array;
  edgeTypeOf: Uint8Array;
  edgeTypes: string[];
  /** Index of `strings`, or the number of an element. */
  edgeNameOf: Uint32Array;
  targetOf: Uint32Array;
  strings: StringTable;
}

/** Reads a heap snapshot piece by piece. `edges` says whether references are read too. */
export async function readHeapSnapshot(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { edges }: { edges: boolean },
): Promise<HeapSnapshot | SnapshotError> {
  try {
    const builder = new SnapshotBuilder(edges);
    const scanner = new SnapshotScanner(builder);
    for await (const chunk of chunks) scanner.push(chunk);
    scanner.finish();
    return builder.build();
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    // A file that cannot be read, or too little memory for it.
    return new SnapshotError((error as Error).message);
  }
}

/** The parts of the header that are used. */
interface Header {
  nodeCount: number;
  edgeCount: number;
  nodeFields: string[];
  nodeTypes: string[];
  edgeFields: string[];
  edgeTypes: string[];
}

class SnapshotBuilder implements SnapshotSink {
  readonly #readsEdges: boolean;
  readonly #strings = new StringTable();
  #snapshot: HeapSnapshot | null = null;
  #nodes: Records | null = null;
  #edges: Records | null = null;
  /** Number of edges of the nodes so far. */
  #edgesOfNodes = 0;

  constructor(readsEdges: boolean) {
    this.#readsEdges = readsEdges;
  }

  header(text: string): void {
    const header = parseHeader(text);
    const { nodeCount, edgeCount } = header;
    const kept = this.#readsEdges ? edgeCount : 0;
    const snapshot: HeapSnapshot = {
      nodeCount,
      typeOf: new Uint8Array(nodeCount),
      nodeTypes: header.nodeTypes,
      nameOf: new Uint32Array(nodeCount),
      idOf: new Uint32Array(nodeCount),
      sizeOf: new Float64Array(nodeCount),
      firstEdge: new Uint32Array(this.#readsEdges ? nodeCount + 1 : 0),
      edgeTypeOf: new Uint8Array(kept),
      edgeTypes: header.edgeTypes,
      edgeNameOf: new Uint32Array(kept),
      targetOf: new Uint32Array(kept),
      strings: this.#strings,
    };
    this.#snapshot = snapshot;
    this.#nodes = this.#collectNodes(header, snapshot);
    this.#edges = collectEdges(header, snapshot);
  }

  number(of: NumberArray, value: number): void {
    if (of === 'nodes') this.#records(this.#nodes).add(value);
    else if (this.#readsEdges) this.#records(this.#edges).add(value);
  }

  string(bytes: Uint8Array): void {
    this.#strings.add(bytes);
  }

  #records(records: Records | null): Records {
    if (!records) throw new SnapshotError('the snapshot has no header');
    return records;
  }

  build(): HeapSnapshot {
    const snapshot = this.#snapshot;
    if (!snapshot || !this.#nodes?.isComplete) {
      throw new SnapshotError('the snapshot is not complete');
    }
    if (!this.#readsEdges) return snapshot;
    if (!this.#edges?.isComplete || this.#edgesOfNodes !== snapshot.targetOf.length) {
      throw new SnapshotError('references of the snapshot are missing');
    }
    snapshot.firstEdge[snapshot.nodeCount] = this.#edgesOfNodes;
    return snapshot;
  }

  #collectNodes(header: Header, snapshot: HeapSnapshot): Records {
    const { nodeFields } = header;
    const read = findFields(nodeFields, ['type', 'name', 'id', 'self_size', 'edge_count']);
    const [type, name, id, size, edgeCount] = read;
    return new Records(nodeFields.length, header.nodeCount, (node, values) => {
      snapshot.typeOf[node] = values[type] ?? 0;
      snapshot.nameOf[node] = values[name] ?? 0;
      snapshot.idOf[node] = values[id] ?? 0;
      snapshot.sizeOf[node] = values[size] ?? 0;
      if (!this.#readsEdges) return;
      snapshot.firstEdge[node] = this.#edgesOfNodes;
      this.#edgesOfNodes += values[edgeCount] ?? 0;
      if (this.#edgesOfNodes > header.edgeCount) {
        throw new SnapshotError('the snapshot has more references than it says');
      }
    });
  }
}

function collectEdges({ edgeFields, edgeCount, nodeFields }: Header, snapshot: HeapSnapshot) {
  const [type, name, target] = findFields(edgeFields, ['type', 'name_or_index', 'to_node']);
  return new Records(edgeFields.length, edgeCount, (edge, values) => {
    const node = (values[target] ?? 0) / nodeFields.length;
    if (!Number.isInteger(node) || node >= snapshot.nodeCount) {
      throw new SnapshotError('a reference of the snapshot leads nowhere');
    }
    snapshot.edgeTypeOf[edge] = values[type] ?? 0;
    snapshot.edgeNameOf[edge] = values[name] ?? 0;
    snapshot.targetOf[edge] = node;
  });
}

/** Groups numbers to records. */
class Records {
  readonly #values: number[];
  readonly #limit: number;
  readonly #onRecord: (index: number, values: readonly number[]) => void;
  #filled = 0;
  #count = 0;

  constructor(
    length: number,
    limit: number,
    onRecord: (index: number, values: readonly number[]) => void,
  ) {
    this.#values = new Array(length).fill(0);
    this.#limit = limit;
    this.#onRecord = onRecord;
  }

  add(value: number): void {
    this.#values[this.#filled++] = value;
    if (this.#filled < this.#values.length) return;
    this.#filled = 0;
    if (this.#count === this.#limit) {
      throw new SnapshotError('the snapshot has more objects than it says');
    }
    this.#onRecord(this.#count++, this.#values);
  }

  get isComplete(): boolean {
    return this.#count === this.#limit && this.#filled === 0;
  }
}

function findFields<Names extends readonly string[]>(
  fields: string[],
  names: [...Names],
): { [Index in keyof Names]: number } {
  const found = names.map((name) => fields.indexOf(name));
  if (found.includes(-1)) throw new SnapshotError('the format of the snapshot is unknown');
  return found as { [Index in keyof Names]: number };
}

function parseHeader(text: string): Header {
  let header: Record<string, unknown>;
  try {
    header = JSON.parse(text);
  } catch {
    throw new SnapshotError('the header of the snapshot is damaged');
  }
  const meta = (header.meta ?? {}) as Record<string, unknown>;
  return {
    nodeCount: readCount(header.node_count, MAX_NODES),
    edgeCount: readCount(header.edge_count, MAX_EDGES),
    nodeFields: readNames(meta.node_fields),
    nodeTypes: readNames(readFirst(meta.node_types)),
    edgeFields: readNames(meta.edge_fields),
    edgeTypes: readNames(readFirst(meta.edge_types)),
  };
}

function readCount(value: unknown, most: number): number {
  if (!Number.isSafeInteger(value) || Number(value) < 0) {
    throw new SnapshotError('the header of the snapshot is damaged');
  }
  if (Number(value) > most) throw new SnapshotError('the snapshot is too large');
  return Number(value);
}

function readFirst(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function readNames(value: unknown): string[] {
  const isNames =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length < 256 &&
    value.every((name) => typeof name === 'string');
  if (!isNames) throw new SnapshotError('the format of the snapshot is unknown');
  return value;
}
