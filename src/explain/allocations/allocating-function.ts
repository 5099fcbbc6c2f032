import type { AllocatedObjects } from '../../probe/protocol.cjs';
import type { FlameFrame } from '../result.js';
import { listPaths } from './allocations.js';

/** Minimum share of the samples of a class that are of a function, with what it calls, if it allocates the class. */
const MIN_SHARE = 0.7;

/** A function with what it calls, and the bytes of the samples there. */
interface Call {
  frame: FlameFrame | null;
  bytes: number;
  callees: Map<string, Call>;
}

/** The functions that allocated what stays in memory. */
export class AllocatingFunctions {
  readonly #allocated: AllocatedObjects;
  /** By node: the functions of the service that lead there, or those of packages if there are none. */
  readonly #paths: FlameFrame[][];

  constructor(allocated: AllocatedObjects) {
    this.#allocated = allocated;
    this.#paths = listPaths(allocated.tree).map(selectFunctions);
  }

  /**
   * Finds the innermost function that allocated most of the objects with a size, by itself or by what it calls; `null` if
   * unknown. Objects of other classes have that size too.
   */
  find(objectSize: number): FlameFrame | null {
    const wanted = scaleSize(objectSize, this.#allocated.interval);
    const root: Call = { frame: null, bytes: 0, callees: new Map() };
    for (const { node, size, samples } of this.#allocated.objects) {
      if (size === wanted) addPath(root, this.#paths[node] ?? [], size * samples);
    }
    let found = root;
    for (let next: Call | undefined = root; next; ) {
      found = next;
      next = [...next.callees.values()].find(({ bytes }) => bytes >= MIN_SHARE * root.bytes);
    }
    return found.frame;
  }
}

function addPath(root: Call, path: readonly FlameFrame[], bytes: number): void {
  root.bytes += bytes;
  let call = root;
  for (const frame of path) {
    const key = `${frame.name}\n${frame.place}`;
    const known = call.callees.get(key) ?? { frame, bytes: 0, callees: new Map() };
    call.callees.set(key, known);
    known.bytes += bytes;
    call = known;
  }
}

function selectFunctions(path: FlameFrame[]): FlameFrame[] {
  const own = path.filter(({ origin }) => origin === 'application');
  return own.length > 0 ? own : path.filter(({ origin }) => origin === 'dependency');
}

/**
 * Computes the bytes for which V8 lets one sample of an object stand: a multiple of its size, by the probability that an
 * object of this size is sampled.
 */
export function scaleSize(size: number, interval: number): number {
  return size * Math.round(1 / (1 - Math.exp(-size / interval)));
}
