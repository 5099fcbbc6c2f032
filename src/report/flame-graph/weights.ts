import type { FlameGraph } from '../../explain/result.js';
import { amount } from '../../format/ratios.js';
import { bytes, time } from '../../format/units.js';

/** For the script of a page: the units of a weight with what each is of it, the largest first. */
export const WEIGHT_UNITS: Record<FlameGraph['unit'], readonly (readonly [number, string])[]> = {
  ms: [
    [1000, 's'],
    [1, 'ms'],
    [0.001, 'µs'],
  ],
  requests: [[1, 'requests']],
  bytes: [
    [1e6, 'MB per request'],
    [1e3, 'kB per request'],
    [1, 'B per request'],
  ],
};

/** Formats a weight of a graph with its unit: `412 ms`, `19.4 requests`, `1.02 kB per request`. */
export function formatWeight(weight: number, unit: FlameGraph['unit']): string {
  if (unit === 'ms') return time(weight);
  if (unit === 'bytes') return `${bytes(weight)} per request`;
  const words = amount(weight);
  return `${words} ${words === '1.00' ? 'request' : 'requests'}`;
}
