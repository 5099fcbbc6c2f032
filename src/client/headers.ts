import { listHeaders, type RequestHeaders } from '../validation/headers.js';
import type { EncodedBody } from './body.js';

type RequestFields = Record<string, string | string[] | undefined>;

/** Builds the headers of a request: those of the call, and those derived from its body that the call does not set. */
export function buildHeaders(
  headers: RequestHeaders,
  { type, length }: EncodedBody,
): RequestFields {
  const fields = Symbol.iterator in headers ? groupByName(listHeaders(headers)) : headers;
  if (type === null && length === null) return fields;
  const names = new Set<string>();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) names.add(name.toLowerCase());
  }
  const added: RequestFields = {};
  if (type !== null && !names.has('content-type')) added['content-type'] = type;
  if (length !== null && !names.has('content-length')) added['content-length'] = String(length);
  return { ...fields, ...added };
}

/** Groups pairs by name: a repeated name has all its values. */
function groupByName(pairs: [name: string, value: string][]): RequestFields {
  // Without a prototype: `constructor` and `__proto__` are names like any other.
  const fields: Record<string, string[]> = Object.create(null);
  for (const [name, value] of pairs) {
    const values = fields[name] ?? [];
    fields[name] = values;
    values.push(value);
  }
  return fields;
}
