import type { AllocatedObjects } from '../../probe/protocol.cjs';
import type { FlameFrame } from '../result.js';
import { listPaths } from './allocations.js';

/** Minimum share of the samples of a class that are of a function, with what it calls, if it allocates the class. */
const MIN_SHARE = 0.7;

/** Range of the number of objects by samples, relative to the number of those that grew. */
const [MIN_COUNT, MAX_COUNT] = [0.75, 1.33];
/** Maximum number of objects for which one sample stands when sizes are scaled back. */
const MAX_REPRESENTED = 2000;

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
   * Finds the innermost function that allocated most of some objects, by itself or by what it calls; `null` if unknown.
   * Objects of other classes have the same size too.
   *
   * @param objectSize the size of each, in bytes
   * @param objects their number
   */
  find(objectSize: number, objects: number): FlameFrame | null {
    const root: Call = { frame: null, bytes: 0, callees: new Map() };
    const wanted = this.#findSampledSize(objectSize, objects);
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

  /**
   * Finds the size of the samples of some objects. Optimized code allocates objects that belong together at once, as an
   * array and its elements, which is one sample: then it is the next larger size of which there are as many.
   */
  #findSampledSize(objectSize: number, objects: number): number {
    const { interval, objects: sampled } = this.#allocated;
    const counts = new Map<number, number>();
    for (const { size, samples } of sampled) counts.set(size, (counts.get(size) ?? 0) + samples);
    const wanted = scaleSize(objectSize, interval);
    const isEnough = (size: number, ofEach: number) => {
      const ratio = ((counts.get(size) ?? 0) * size) / ofEach / Math.max(1, objects);
      return ratio >= MIN_COUNT && ratio <= MAX_COUNT;
    };
    if (isEnough(wanted, objectSize)) return wanted;
    const larger = [...counts.keys()]
      .flatMap((size) => unscaleSize(size, interval).map((ofEach) => ({ size, ofEach })))
      .filter(({ size, ofEach }) => ofEach > objectSize && isEnough(size, ofEach))
      .sort((a, b) => a.ofEach - b.ofEach);
    return larger[0]?.size ?? wanted;
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

/** Computes the sizes that an object may have by that of its sample: all for which `scaleSize` gives it. */
function unscaleSize(scaled: number, interval: number): number[] {
  const sizes: number[] = [];
  for (let represented = 1; represented <= MAX_REPRESENTED; represented++) {
    const size = scaled / represented;
    if (Number.isInteger(size) && scaleSize(size, interval) === scaled) sizes.push(size);
  }
  return sizes;
}
