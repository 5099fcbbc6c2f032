import type { NativeDistribution } from '../../native/addon.js';
import type { Distribution, Statistic } from '../result.js';

/** Converts a distribution of the addon, and derives which of its figures are bounds or imprecise. */
export function convertDistribution(native: NativeDistribution): Distribution {
  return {
    count: native.count,
    censored: native.censored,
    atLeast: findBounds(native),
    imprecise: findImprecise(native),
    min: native.min ?? null,
    mean: native.mean ?? null,
    stdev: native.stdev ?? null,
    p50: native.p50 ?? null,
    p75: native.p75 ?? null,
    p90: native.p90 ?? null,
    p95: native.p95 ?? null,
    p99: native.p99 ?? null,
    p99_9: native.p99_9 ?? null,
    p99_99: native.p99_99 ?? null,
    max: native.max ?? null,
  };
}

const PERCENTILES = {
  p50: 0.5,
  p75: 0.75,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
  p99_9: 0.999,
  p99_99: 0.9999,
} as const;

/** Tolerance for rounding errors of shares. */
const TOLERANCE = 1e-12;

/** Finds the figures beyond the share up to which times are known: they are lower bounds. */
function findBounds({ count, known }: NativeDistribution): Distribution['atLeast'] {
  if (count === 0 || known === 1) return {};
  return { ...selectPercentilesAbove(known), mean: true, stdev: true, max: true };
}

/** Finds the percentiles that are known, but from too few samples. */
function findImprecise({ count, known, supported }: NativeDistribution): Distribution['imprecise'] {
  if (count === 0) return {};
  const bounds = selectPercentilesAbove(known);
  const names = Object.keys(selectPercentilesAbove(supported)) as Statistic[];
  return markAll(names.filter((name) => !(name in bounds)));
}

function selectPercentilesAbove(share: number): Distribution['atLeast'] {
  const names = Object.keys(PERCENTILES) as (keyof typeof PERCENTILES)[];
  return markAll(names.filter((name) => PERCENTILES[name] > share + TOLERANCE));
}

function markAll(names: Statistic[]): Distribution['atLeast'] {
  return Object.fromEntries(names.map((name) => [name, true]));
}
