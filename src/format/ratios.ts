import type { Interval, MeasuredRatio } from '../statistics/types.js';
import { bytes, rate, significant, time } from './units.js';

/** Formats a mean number of requests: `1,234`, `19.4`, `0.03`. */
export function amount(requests: number): string {
  if (requests >= 100) return rate(requests);
  return requests.toFixed(requests >= 10 ? 1 : 2);
}

/** Formats a range of throughput: `645`, `12,400 to 14,100`. */
export function throughputRange({ low, high }: Interval): string {
  return high / Math.max(low, 1e-9) < 1.02 ? rate(high) : `${rate(low)} to ${rate(high)}`;
}

/** Formats a range of times: `80.0 ms to 120 ms`. */
export function timeRange({ low, high }: Interval): string {
  return `${time(low)} to ${time(high)}`;
}

/** Upper end of a prediction from which on it counts as unbounded. */
const MAX_FACTOR = 50;

/** Formats a predicted ratio: `× 2.00`, `× 1.80 to 2.10`. */
export function factor({ low, high }: Interval): string {
  if (high > MAX_FACTOR) return `× ${low.toFixed(2)} or more`;
  return high - low < 0.02 ? `× ${low.toFixed(2)}` : `× ${low.toFixed(2)} to ${high.toFixed(2)}`;
}

/** Formats a measured ratio with its interval: `× 1.98 [1.95, 2.00]`. */
export function measuredRatio({ ratio, low, high }: MeasuredRatio): string {
  return `× ${ratio.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

/** Formats the value of a piece of evidence with its unit. */
export function evidenceValue({ value, unit }: { value: number; unit: string }): string {
  if (unit === 'ms') return time(value);
  if (unit === 'B') return bytes(value);
  if (unit === 'MB') return bytes(value * 1e6);
  if (unit === '1/s') return `${rate(value)}/s`;
  return unit === '1' ? significant(value) : `${significant(value)} ${unit}`;
}
