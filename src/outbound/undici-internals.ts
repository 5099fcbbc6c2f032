/**
 * Reads a field that undici keeps under a symbol. Each copy of undici has symbols of its own with the same
 * descriptions. Returns `undefined` where a version has no such field, which counts as not set.
 */
export function readInternal(holder: object, name: string): unknown {
  const symbols = known.get(name) ?? [];
  for (const symbol of symbols) {
    if (symbol in holder) return (holder as Record<symbol, unknown>)[symbol];
  }
  const found = Object.getOwnPropertySymbols(holder).find(
    ({ description }) => description === name,
  );
  if (found === undefined) return undefined;
  known.set(name, [found, ...symbols]);
  return (holder as Record<symbol, unknown>)[found];
}

/** The symbols of the copies seen so far, by description. */
const known = new Map<string, symbol[]>();
