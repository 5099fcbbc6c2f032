import type { AllocatedObjects } from '../../probe/protocol.cjs';
import type { FlameFrame } from '../result.js';
import { listPaths } from './allocations.js';

/** Minimum share of everything that stays, at which what allocates it is blamed for objects without samples of their own. */
const MIN_DOMINANT_SHARE = 0.5;

/** The functions that allocated what stays in memory. */
export class AllocatingFunctions {
  readonly #allocated: AllocatedObjects;
  /** By node: the innermost function of the service, or that of a package if it called none. */
  readonly #functions: (FlameFrame | null)[];

  constructor(allocated: AllocatedObjects) {
    this.#allocated = allocated;
    this.#functions = listPaths(allocated.tree).map(findFunction);
  }

  /** Finds the function that allocated most of the objects with a size; `null` if unknown. */
  find(objectSize: number): FlameFrame | null {
    const { interval, objects } = this.#allocated;
    const wanted = scaleSize(objectSize, interval);
    const own = objects.filter(({ size }) => size === wanted);
    const [most] = this.#rank(own);
    if (most) return most.frame;
    const ranked = this.#rank(objects);
    const all = ranked.reduce((sum, { bytes }) => sum + bytes, 0);
    const [largest] = ranked;
    return largest && largest.bytes >= MIN_DOMINANT_SHARE * all ? largest.frame : null;
  }

  /** Sums the bytes by function, largest first. */
  #rank(objects: AllocatedObjects['objects']): { frame: FlameFrame; bytes: number }[] {
    const sums = new Map<string, { frame: FlameFrame; bytes: number }>();
    for (const { node, size, samples } of objects) {
      const frame = this.#functions[node];
      if (!frame) continue;
      const key = `${frame.name}\n${frame.place}`;
      const known = sums.get(key) ?? { frame, bytes: 0 };
      known.bytes += size * samples;
      sums.set(key, known);
    }
    return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
  }
}

function findFunction(path: FlameFrame[]): FlameFrame | null {
  return (
    path.findLast(({ origin }) => origin === 'application') ??
    path.findLast(({ origin }) => origin === 'dependency') ??
    null
  );
}

/**
 * Computes the bytes for which V8 lets one sample of an object stand: a multiple of its size, by the probability that an
 * object of this size is sampled.
 */
export function scaleSize(size: number, interval: number): number {
  return size * Math.round(1 / (1 - Math.exp(-size / interval)));
}
