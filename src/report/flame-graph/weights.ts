import type { FlameGraph } from '../../explain/result.js';
import { amount } from '../../format/ratios.js';
import { bytes, time } from '../../format/units.js';

/** Formats a weight of a graph with its unit: `412 ms`, `19.4 requests`, `1.02 kB per request`. */
export function formatWeight(weight: number, unit: FlameGraph['unit']): string {
  if (unit === 'ms') return time(weight);
  if (unit === 'bytes') return `${bytes(weight)} per request`;
  const words = amount(weight);
  return `${words} ${words === '1.00' ? 'request' : 'requests'}`;
}
