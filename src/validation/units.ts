import { type MillraceError, usageError } from '../errors/millrace-error.js';
import { mustBe } from './shape.js';

// Parses durations, counts, rates and sizes; format/units.ts prints them. `name` is the flag or option that a message names.

/** A duration: milliseconds as a number, or text with a unit: `'500ms'`, `'10s'`, `'1m30s'`, `'2h'`. */
export type Duration = number | string;

const MS_PER_UNIT: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const COUNT_SUFFIX: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };
const BYTES_PER_UNIT: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gib: 1024 ** 3,
};

const NUMBER = String.raw`\d+(?:\.\d+)?|\.\d+`;
const DURATION_PART = new RegExp(`(${NUMBER})(ns|us|µs|ms|s|m|h)`, 'g');
const DURATION = new RegExp(`^(?:(?:${NUMBER})(?:ns|us|µs|ms|s|m|h))+$`);
const COUNT = new RegExp(`^(${NUMBER})([kmg]?)$`, 'i');
const BYTES = new RegExp(`^(${NUMBER})(b|[kmg](?:i?b)?)?$`, 'i');
const DIGITS = new RegExp(`^(?:${NUMBER})$`);

/** The smallest and the largest number accepted. */
export interface Range {
  min: number;
  max: number;
}

/** Parses an option of the API: milliseconds from a number of them, or from text such as `500ms`, `10s`, `1m30s`, `2h`. */
export function parseDuration(value: number | string, name: string): number {
  const ms = typeof value === 'number' ? value : readDuration(value);
  if (isDuration(ms)) return ms;
  if (typeof value === 'string' && DIGITS.test(value)) throw needsUnit(value, name);
  throw mustBe(name, 'a duration such as 500ms, 10s, 1m30s or 2h', value);
}

/** Parses the value of a flag: milliseconds from text such as `500ms`, `10s`, `1m30s`, `2h`; digits alone are seconds. */
export function parseFlagDuration(value: string, name: string): number {
  const ms = DIGITS.test(value) ? Number(value) * 1000 : readDuration(value);
  if (isDuration(ms)) return ms;
  throw mustBe(name, 'a duration such as 10 (seconds), 500ms, 10s, 1m30s or 2h', value);
}

function isDuration(ms: number): boolean {
  return ms >= 0 && ms < Number.MAX_SAFE_INTEGER;
}

function needsUnit(digits: string, name: string): MillraceError {
  return usageError(
    `${name} needs a unit, as in '${digits}s' or '${digits}ms' (got '${digits}'; a number without quotes is milliseconds)`,
  );
}

/** Reports whether text is a duration that names its unit. */
export function hasDurationUnit(text: string): boolean {
  return DURATION.test(text);
}

/** Milliseconds; `NaN` for text that is not a duration with a unit. */
function readDuration(text: string): number {
  if (typeof text !== 'string' || !DURATION.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(DURATION_PART)) {
    ms += Number(amount) * (MS_PER_UNIT[unit ?? ''] ?? Number.NaN);
  }
  return ms;
}

/** Parses a whole number within the range from a number or from text such as `400`, `10k`, `1M`. */
export function parseCount(value: number | string, name: string, { min, max }: Range): number {
  const count = typeof value === 'number' ? value : readScaled(value, COUNT, COUNT_SUFFIX);
  if (!Number.isSafeInteger(count) || count < min || count > max) {
    const examples = COUNT_EXAMPLES.filter(([example]) => example >= min && example <= max);
    const such = examples.length > 0 ? `, such as ${examples.map(([, it]) => it).join(', ')}` : '';
    throw mustBe(name, `a whole number from ${min} to ${max}${such}`, value);
  }
  return count;
}

const COUNT_EXAMPLES: readonly (readonly [number, string])[] = [
  [50, '50'],
  [10_000, '10k'],
  [1_000_000, '1M'],
];

/** Reports whether text is a count, such as `400` or `10k`. */
export function isCount(text: string): boolean {
  return COUNT.test(text);
}

/** Parses arrivals per second from a number or from text: `1000`, `10k`, `50/1s`, `200/m`. */
export function parseRate(value: number | string, name: string, { min, max }: Range): number {
  const rate = typeof value === 'number' ? value : readRate(value);
  if (!(rate >= min && rate <= max)) {
    const such = 'such as 1000, 10k, 50/1s, 200/m';
    throw mustBe(name, `a rate from ${min} to ${max} requests per second, ${such}`, value);
  }
  return rate;
}

function readRate(text: string): number {
  if (typeof text !== 'string') return Number.NaN;
  const [amount = '', per, ...more] = text.split('/');
  if (more.length > 0) return Number.NaN;
  const count = readScaled(amount, COUNT, COUNT_SUFFIX);
  if (per === undefined) return count;
  const interval = /^[\d.]/.test(per) ? per : `1${per}`;
  return hasDurationUnit(interval) ? (count * 1000) / readDuration(interval) : Number.NaN;
}

/** Parses a share above 0 and up to 1: a number, also as text, or text such as `1%`. */
export function parsePositiveShare(value: number | string, name: string): number {
  const isNumber = typeof value === 'number' || DIGITS.test(value);
  const share = isNumber ? Number(value) : readPercentage(value);
  if (share > 0 && share <= 1) return share;
  throw mustBe(name, 'a share above 0 and up to 1, such as 1, 0.01 or 1%', value);
}

/** Parses a share: a number such as 0.03, or text such as `3%`. */
export function parseShare(value: number | string, name: string, { min, max }: Range): number {
  const share = typeof value === 'number' ? value : readPercentage(value);
  if (share >= min && share <= max) return share;
  throw mustBe(name, `a percentage from ${min * 100}% to ${max * 100}%, such as 3%`, value);
}

function readPercentage(text: string): number {
  return /^(?:\d+(?:\.\d+)?|\.\d+)%$/.test(text) ? Number(text.slice(0, -1)) / 100 : Number.NaN;
}

/** Parses bytes from a number or from text: `1000`, `16k`, `64KiB`, `1MB`. */
export function parseBytes(value: number | string, name: string): number {
  const bytes = typeof value === 'number' ? value : readScaled(value, BYTES, BYTES_PER_UNIT);
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    throw mustBe(name, 'a size in bytes, such as 1000, 16k, 64KiB or 1MB', value);
  }
  return bytes;
}

function readScaled(text: string, pattern: RegExp, suffixes: Record<string, number>): number {
  const match = typeof text === 'string' ? pattern.exec(text) : null;
  if (!match) return Number.NaN;
  const value = Number(match[1]) * (suffixes[(match[2] ?? '').toLowerCase()] ?? Number.NaN);
  const whole = Math.round(value);
  return Math.abs(value - whole) < 1e-6 ? whole : value;
}
