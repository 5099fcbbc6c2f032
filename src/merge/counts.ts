// Numbers that are added up. What cannot be one is an error of the result that has it.

/** Returns a number of requests, bytes or others; throws a RangeError for what is none. */
export function readCount(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new RangeError('not a count');
}

/** Returns a time or a share; throws a RangeError for what is none. */
export function readNumber(value: unknown): number {
  if (Number.isFinite(value)) return value as number;
  throw new RangeError('not a number');
}

/** The last instant that a Date has, in milliseconds of Unix time. */
const MAX_INSTANT_MS = 8.64e15;

/** Returns an instant in milliseconds of Unix time; throws a RangeError for what is none. */
export function readInstant(value: unknown): number {
  const instant = readNumber(value);
  if (instant >= 0 && instant <= MAX_INSTANT_MS) return instant;
  throw new RangeError('not an instant');
}

/** An object of counts, and of objects of counts. */
type Counts = { [name: string]: number | Counts };

/** Adds the counts of an object to those of a sum, which has all fields. */
export function addCounts<Sum extends object>(sum: Sum, other: Sum): void {
  add(sum as Counts, other as Counts);
}

function add(sum: Counts, other: Counts): void {
  for (const [name, value] of Object.entries(sum)) {
    const more = other[name];
    if (typeof value === 'number') sum[name] = readCount(value + readCount(more));
    else if (typeof more === 'object') add(value, more);
    else throw new RangeError(`${name} is missing`);
  }
}

/** Adds counts by key, such as responses by status. */
export function addByKey(sum: Map<string, number>, other: Record<string, number>): void {
  for (const [key, count] of Object.entries(other)) {
    sum.set(key, readCount((sum.get(key) ?? 0) + readCount(count)));
  }
}

/**
 * A sum of times that results have in milliseconds: in whole nanoseconds, which the engine measures, so that it does not
 * depend on the order.
 */
export class TimeSum {
  #nanoseconds = 0n;

  add(ms: number): void {
    this.#nanoseconds += BigInt(Math.round(readNumber(ms) * 1e6));
  }

  get ms(): number {
    return Number(this.#nanoseconds) / 1e6;
  }
}

/** Chooses one of two texts that stand for many, whatever the order: the first one in the order of characters. */
export function chooseExample(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

/** Joins lists of names: their order where it is the same, else that of characters. */
export function unite(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.length === other.length && one.every((name, index) => name === other[index])) return one;
  return [...new Set([...one, ...other])].sort();
}
