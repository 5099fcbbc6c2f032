/**
 * What undici keeps under a symbol: each copy has symbols of its own, which have the same names. `undefined` where a
 * version does not have it: then it is taken as not set.
 */
export function internal(holder: object, name: string): unknown {
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

/** By name, those of the copies that were met. */
const known = new Map<string, symbol[]>();
