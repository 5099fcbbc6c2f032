/** A range of postal codes, as the carrier's file has them: text, sorted by the first code. */
export interface Zone {
  readonly from: string;
  readonly to: string;
  readonly tariff: number;
}

const COUNT = 20_000;

/** The carrier's 20,000 ranges of five codes each. */
export const zones: readonly Zone[] = Array.from({ length: COUNT }, (_, index) => ({
  from: String(index * 5).padStart(5, '0'),
  to: String(index * 5 + 4).padStart(5, '0'),
  tariff: 390 + ((index * 7) % 600),
}));

const contains = (zone: Zone, code: number): boolean =>
  Number(zone.from) <= code && code <= Number(zone.to);

/** Looks through the ranges, one after the other. */
export function scanZones(code: number): Zone | undefined {
  for (const zone of zones) if (contains(zone, code)) return zone;
  return undefined;
}

/** Halves the ranges until one is left. */
export function searchZones(code: number): Zone | undefined {
  let low = 0;
  let high = zones.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (Number(zones[middle].from) <= code) low = middle;
    else high = middle - 1;
  }
  return contains(zones[low], code) ? zones[low] : undefined;
}
