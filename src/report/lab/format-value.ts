import { bytes, cores, count, rate, share, time } from '../../format/units.js';
import type { LabUnit } from '../../lab/result.js';

/** Formats a number of a study. */
export function formatValue(value: number | null, unit: LabUnit): string {
  return value === null ? '–' : FORMATS[unit](value);
}

const FORMATS: Record<LabUnit, (value: number) => string> = {
  rate,
  time,
  bytes,
  cores,
  share,
  count,
  decimal: (value) => value.toFixed(2),
  ratio: (value) => `${value.toFixed(2)}x`,
};
