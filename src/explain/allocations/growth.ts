import type { AllocatedObjects } from '../../probe/protocol.cjs';
import type { GrowingClass } from '../result.js';
import { AllocatingFunctions } from './allocating-function.js';
import { type ClassSize, createClassFinder, sumClasses } from './heap-snapshot/classes.js';
import { Declarations } from './heap-snapshot/declarations.js';
import type { HeapSnapshot } from './heap-snapshot/heap-snapshot.js';
import { Retainers } from './heap-snapshot/retainers.js';

/** Maximum number of classes that are reported, and the minimum share of the growth of one. */
const MAX_CLASSES = 5;
const MIN_SHARE = 0.03;
/** Minimum bytes per request: less is what the runtime itself adds. */
const MIN_BYTES_PER_REQUEST = 8;
/** Number of new objects of a class whose retainers are looked at. */
const MAX_SAMPLES = 200;

/** What is known of a heap before it grew. */
export interface EarlierHeap {
  classes: Map<string, ClassSize>;
  /** The largest id: new objects have larger ones. */
  lastId: number;
}

/** Summarizes the heap before it grows, so that its snapshot can be dropped. */
export function summarizeHeap(snapshot: HeapSnapshot): EarlierHeap {
  let lastId = 0;
  for (const id of snapshot.idOf) if (isCounted(id) && id > lastId) lastId = id;
  return { classes: sumClasses(snapshot), lastId };
}

/** Whether an id is a count: the ids of objects outside V8 are even, and made from their addresses. */
function isCounted(id: number): boolean {
  return id % 2 === 1;
}

/**
 * Finds the classes that grew most, and what retains their new objects.
 *
 * @param allocated what was allocated meanwhile and stayed; `null` if unknown
 * @param requests number of requests between the two heaps
 */
export function compareHeaps(
  before: EarlierHeap,
  after: HeapSnapshot,
  allocated: AllocatedObjects | null,
  requests: number,
): GrowingClass[] {
  const grown = selectGrown(before.classes, sumClasses(after), requests);
  if (grown.length === 0) return [];
  const isNew = (node: number) => {
    const id = after.idOf[node] ?? 0;
    return isCounted(id) && id > before.lastId;
  };
  const retainers = new Retainers(after, isNew, new Declarations());
  const functions = allocated && new AllocatingFunctions(allocated);
  const samples = sampleNewObjects(after, new Set(grown.map(({ name }) => name)), isNew);
  return grown.map(({ name, objects, bytes }) => {
    const nodes = samples.get(name) ?? [];
    return {
      name,
      objectsPerRequest: objects / requests,
      bytesPerRequest: bytes / requests,
      retainedBy: findTypicalPath(after, nodes, retainers),
      allocatedAt: functions?.find(findTypicalSize(after, nodes), objects) ?? null,
    };
  });
}

function selectGrown(
  before: Map<string, ClassSize>,
  after: Map<string, ClassSize>,
  requests: number,
): ({ name: string } & ClassSize)[] {
  const grown = [...after].map(([name, { objects, bytes }]) => {
    const earlier = before.get(name) ?? { objects: 0, bytes: 0 };
    return { name, objects: objects - earlier.objects, bytes: bytes - earlier.bytes };
  });
  const sum = grown.reduce((all, { bytes }) => all + Math.max(0, bytes), 0);
  const least = Math.max(MIN_SHARE * sum, MIN_BYTES_PER_REQUEST * requests);
  return grown
    .filter(({ bytes }) => bytes > 0 && bytes >= least)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, MAX_CLASSES);
}

/** Selects new objects of each class, evenly over the heap. */
function sampleNewObjects(
  snapshot: HeapSnapshot,
  wanted: ReadonlySet<string>,
  isNew: (node: number) => boolean,
): Map<string, number[]> {
  const classOf = createClassFinder(snapshot);
  const samples = new Map([...wanted].map((name) => [name, new EvenSample()]));
  for (let node = 0; node < snapshot.nodeCount; node++) {
    if (isNew(node)) samples.get(classOf(node) ?? '')?.add(node);
  }
  return new Map([...samples].map(([name, { nodes }]) => [name, nodes]));
}

/** Every so-many-th of a number of nodes that is not known beforehand. */
class EvenSample {
  nodes: number[] = [];
  #every = 1;
  #seen = 0;

  add(node: number): void {
    if (this.#seen++ % this.#every !== 0) return;
    this.nodes.push(node);
    if (this.nodes.length < 2 * MAX_SAMPLES) return;
    this.nodes = this.nodes.filter((_, index) => index % 2 === 0);
    this.#every *= 2;
  }
}

/** Finds the path by which most bytes of some objects are retained. */
function findTypicalPath(
  { sizeOf }: HeapSnapshot,
  nodes: readonly number[],
  retainers: Retainers,
): string[] {
  const paths = new Map<string, { path: string[]; bytes: number }>();
  for (const node of nodes) {
    const path = retainers.describePath(node);
    const key = path.join('\n');
    const known = paths.get(key) ?? { path, bytes: 0 };
    known.bytes += sizeOf[node] ?? 0;
    paths.set(key, known);
  }
  const [most] = [...paths.values()].sort((a, b) => b.bytes - a.bytes);
  return most?.path ?? [];
}

/** Finds the size that most of some objects have. */
function findTypicalSize({ sizeOf }: HeapSnapshot, nodes: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const node of nodes) {
    const size = sizeOf[node] ?? 0;
    counts.set(size, (counts.get(size) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 0;
}
