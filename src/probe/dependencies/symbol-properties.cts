/** Finds the symbol with a description under which an object has a property. Of each copy of a package it is another one. */
export function findSymbol(holder: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(holder).find((symbol) => symbol.description === description);
}

/** Reads the property that an object has under the symbol with a description. */
export function readSymbol(holder: object, description: string): unknown {
  const symbol = findSymbol(holder, description);
  return symbol && (holder as Record<symbol, unknown>)[symbol];
}
