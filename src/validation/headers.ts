// The headers of requests, for the load tester and the client.
import { isIterable, mustBe, type Shape } from './shape.js';

/**
 * Headers of a request: names with one value or several (`undefined` leaves a name out), or pairs of name and value, as a
 * `Headers`, a `Map` or a list has them.
 */
export type RequestHeaders =
  | Record<string, string | string[] | undefined>
  | Iterable<readonly [name: string, value: string]>;

const ACCEPTED = 'an object, a Headers, or pairs of name and value';

/** Refuses what has no headers. The pairs of an iterator are not read, as that would take them away. */
export const headersShape: Shape = (value, name) => {
  const fits =
    typeof value === 'object' &&
    value !== null &&
    (!isIterable(value) || isIterator(value) || [...value].every(isPair));
  if (!fits) throw mustBe(name, ACCEPTED, value);
};

/** As `headersShape`, for headers that are read more than once: refuses an iterator, which has its pairs once. */
export const lastingHeadersShape: Shape = (value, name) => {
  headersShape(value, name);
  if (isIterable(value as object) && isIterator(value as Iterable<unknown>)) {
    throw mustBe(name, `${ACCEPTED}, which can be read again: [...iterator]`, value);
  }
};

/** Lists headers as pairs in their order; a name with several values is repeated. */
export function listHeaders(headers: RequestHeaders): [name: string, value: string][] {
  const entries: Iterable<readonly [string, string | string[] | undefined]> = isIterable(headers)
    ? (headers as Iterable<readonly [string, string]>)
    : Object.entries(headers);
  return [...entries].flatMap(([name, values]) =>
    values === undefined ? [] : [values].flat().map((value): [string, string] => [name, value]),
  );
}

function isIterator(value: Iterable<unknown>): boolean {
  return (value[Symbol.iterator]() as unknown) === value;
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2;
}
