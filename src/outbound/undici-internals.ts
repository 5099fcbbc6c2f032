/**
 * Reads a field that undici keeps under a symbol. Each copy of undici has symbols of its own with the same
 * descriptions. Returns `undefined` where a version has no such field, which counts as not set.
 */
export function readInternal(holder: object, name: string): unknown {
  const symbol = findSymbol(holder, name);
  return symbol === undefined ? undefined : (holder as Record<symbol, unknown>)[symbol];
}

/** Writes such a field, if there is one. */
export function writeInternal(holder: object, name: string, value: unknown): void {
  const symbol = findSymbol(holder, name);
  if (symbol !== undefined) (holder as Record<symbol, unknown>)[symbol] = value;
}

function findSymbol(holder: object, name: string): symbol | undefined {
  const symbols = known.get(name) ?? [];
  for (const symbol of symbols) {
    if (symbol in holder) return symbol;
  }
  const found = Object.getOwnPropertySymbols(holder).find(
    ({ description }) => description === name,
  );
  if (found !== undefined) known.set(name, [found, ...symbols]);
  return found;
}

/** The symbols of the copies seen so far, by description. */
const known = new Map<string, symbol[]>();
