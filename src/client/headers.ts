import { isObject, shape } from '../validation/shape.js';
import type { Body } from './body.js';

/** Fields of a request by name, or pairs of a name and a value, as `Headers` are. */
export type GivenHeaders =
  | Record<string, string | string[] | undefined>
  | Iterable<[name: string, value: string]>;

type Fields = Record<string, string | string[] | undefined>;

/** Refuses what has no fields. */
export const headersShape = shape(
  'an object, Headers, or pairs of name and value',
  (value) => isObject(value) || (Array.isArray(value) && value.every(isPair)),
);

/** The fields of a request: those that are given, and what its body says of itself where they do not. */
export function fieldsOf(given: GivenHeaders, { type, length }: Body): Fields {
  const fields: Fields = Symbol.iterator in given ? gathered(given) : given;
  if (type === null && length === null) return fields;
  const names = new Set<string>();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) names.add(name.toLowerCase());
  }
  const added: Fields = {};
  if (type !== null && !names.has('content-type')) added['content-type'] = type;
  if (length !== null && !names.has('content-length')) added['content-length'] = String(length);
  return { ...fields, ...added };
}

/** A name that comes more than once has all its values. */
function gathered(pairs: Iterable<[string, string]>): Fields {
  // Without a prototype: `constructor` and `__proto__` are names like any other.
  const fields: Record<string, string[]> = Object.create(null);
  for (const [name, value] of pairs) {
    const values = fields[name] ?? [];
    fields[name] = values;
    values.push(value);
  }
  return fields;
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2;
}
