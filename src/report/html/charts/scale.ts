/** A scale from values to percent of a length. Values beyond its ends are clamped. */
export interface Scale {
  low: number;
  high: number;
  at(value: number): number;
}

/** Creates a logarithmic scale; both ends must be positive. */
export function createLogScale(low: number, high: number): Scale {
  const length = Math.log(high / low);
  return createScale(low, high, (value) => (value > 0 ? Math.log(value / low) / length : 0));
}

/** Creates a logarithmic scale around the positive values, extended at both ends by the ratio `room`. */
export function createLogScaleAround(values: number[], room: number): Scale {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const [lowest, highest] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [1, 1];
  return createLogScale(lowest / room, highest * room);
}

/** Creates a linear scale from 0. */
export function createLinearScale(high: number): Scale {
  return createLinearScaleBetween(0, high);
}

/** Creates a linear scale between two values. */
export function createLinearScaleBetween(low: number, high: number): Scale {
  return createScale(low, high, (value) => (value - low) / (high - low));
}

/** Creates a linear scale around values with some space, also if all of them are equal. */
export function createLinearScaleAround(values: readonly number[]): Scale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const space = Math.max((high - low) / 8, high * 0.005, 1e-9);
  return createLinearScaleBetween(Math.max(0, low - space), high + space);
}

function createScale(low: number, high: number, share: (value: number) => number): Scale {
  // Rounded to a hundredth of a percent, a fraction of a pixel.
  const at = (value: number) => Number((100 * Math.min(1, Math.max(0, share(value)))).toFixed(2));
  return { low, high, at };
}

/** Lists 1, 10, 100, ... within a scale, with values between them if there are few. */
export function listDecades({ low, high }: Scale): number[] {
  const rungs = high / low > 300 ? [1] : high / low > 10 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const ticks = [];
  for (let decade = Math.floor(Math.log10(low)); 10 ** decade <= high; decade += 1) {
    ticks.push(...rungs.map((rung) => Number(`${rung}e${decade}`)));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** Lists powers of two within a scale: all of them if there are few, otherwise every second, third, ... */
export function listPowersOfTwo({ low, high }: Scale): number[] {
  const [first, last] = [Math.ceil(Math.log2(low)), Math.floor(Math.log2(high))];
  const step = Math.ceil(Math.max(1, last - first) / 6);
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return all.filter((power) => power % step === 0).map((power) => 2 ** power);
}

/** Lists about four multiples of 1, 2 or 5 times a power of ten within a linear scale. */
export function listMultiples({ low, high }: Scale): number[] {
  const wanted = (high - low) / 4;
  const decade = 10 ** Math.floor(Math.log10(wanted));
  const step = ([1, 2, 5].find((rung) => rung * decade >= wanted) ?? 10) * decade;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) =>
    // Rounding removes floating-point errors, as in 3 * 0.1.
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** Round steps of time, in seconds. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
];

/** Lists at most seven round instants within a scale of seconds from 0. */
export function listInstants(scale: Scale): number[] {
  const step = TIME_STEPS.find((one) => scale.high / one < 6.5);
  if (scale.high < 5 || step === undefined) return listMultiples(scale);
  return Array.from({ length: Math.floor(scale.high / step) + 1 }, (_, index) => index * step);
}
