// Formats numbers for reports. Each function is named after the quantity that it formats, as templates use it in place.

/** Text in place of a missing value. */
const absent = '–';

/** Formats three significant digits, the precision of the histograms; from 100 on an integer with thousands separators. */
export function significant(value: number): string {
  const rounded = Number(value.toPrecision(3));
  if (rounded === 0) return '0';
  return Math.abs(rounded) >= 100 ? count(rounded) : rounded.toPrecision(3);
}

/** Formats an integer with thousands separators: `1,234,567`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Formats a number with its noun: `1 thread`, `4 threads`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Formats a measured time in a suitable unit: `412 µs`, `12.3 ms`, `1.50 s`. */
export function time(ms: number | null): string {
  return ms === null ? absent : inSuitableUnit(ms, significant);
}

/** Formats a round time, as on an axis: `500 µs`, `1.5 ms`. */
export function roundTime(ms: number): string {
  return inSuitableUnit(ms, trimmed);
}

/** Formats CPU in cores. */
export function cores(value: number): string {
  return value.toFixed(2);
}

/** Formats a chosen duration, to the millisecond and without padding: `500 ms`, `10 s`, `1 min 30 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${trimmed(ms)} ms`;
  const whole = Math.round(ms);
  const hours = Math.floor(whole / 3_600_000);
  const minutes = Math.floor((whole % 3_600_000) / 60_000);
  const seconds = (whole % 60_000) / 1000;
  const parts = [
    hours > 0 ? `${hours} h` : '',
    minutes > 0 ? `${minutes} min` : '',
    seconds > 0 ? `${trimmed(seconds)} s` : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** Formats a rate per second, without its unit: `112,345`, `19.5`, `0.25`, `0.000278`. */
export function rate(perSecond: number): string {
  if (perSecond >= 100) return count(perSecond);
  return Number(perSecond.toPrecision(3)).toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** Formats a round rate in little room: `2,000`, `50k`, `1.5M`. */
export function roundRate(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1000}k` : rate(value);
}

/** Formats bytes in decimal units: `812 B`, `95.3 MB`. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let scaled = value;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count(scaled) : significant(scaled)} ${units[unit]}`;
}

/** Formats a share of one as a percentage: `41 %`, `1.2 %`, `0.004 %`, `< 0.001 %`. */
export function share(fraction: number): string {
  const percent = fraction * 100;
  if (percent === 0) return '0 %';
  if (percent < 0.001) return '< 0.001 %';
  // A share below 1 is never rounded to 100 %.
  if (percent > 99 && percent < 100) return `${Number(Math.min(percent, 99.9).toFixed(1))} %`;
  if (percent >= 9.95) return `${Math.round(percent)} %`;
  return `${trimmed(Number(percent.toPrecision(percent < 0.01 ? 1 : 2)))} %`;
}

/** Formats the name of a percentile: `p50`, `p99.9`. */
export function percentile(value: number): string {
  return `p${trimmed(value)}`;
}

function inSuitableUnit(ms: number, format: (value: number) => string): string {
  const rounded = Number(ms.toPrecision(3));
  if (rounded === 0) return '0 ms';
  if (rounded < 0.001) return `${format(rounded * 1e6)} ns`;
  if (rounded < 1) return `${format(rounded * 1e3)} µs`;
  if (rounded < 1000) return `${format(rounded)} ms`;
  return `${format(rounded / 1000)} s`;
}

function trimmed(value: number): string {
  return String(Number(value.toFixed(3)));
}
