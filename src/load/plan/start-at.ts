import { usageError } from '../../errors/millrace-error.js';
import { parseDuration } from '../../validation/units.js';
import type { LoadOptions } from '../options.js';

/** An instant as ISO 8601 writes it, with its offset from UTC. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** How long ago a planned start may be: what is earlier is a slip, not a late start. */
const MAX_AGO_MS = 3_600_000;

/** Reads when the load is to begin, in milliseconds of Unix time; `null` if nothing is planned. */
export function readStartAt(value: LoadOptions['startAt'], name: string): number | null {
  if (value === undefined) return null;
  const ms = typeof value === 'string' ? parseInstant(value.trim(), name) : Number(value);
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) throw invalid(name, String(value));
  if (ms < performance.timeOrigin + performance.now() - MAX_AGO_MS) {
    throw usageError(`${name} must be at most an hour ago (got '${new Date(ms).toISOString()}')`);
  }
  return ms;
}

function parseInstant(text: string, name: string): number {
  const now = performance.timeOrigin + performance.now();
  if (text.startsWith('+')) return now + parseDuration(text.slice(1), name);
  if (ISO.test(text)) return Date.parse(text.replace(',', '.'));
  if (/^\d{4}-\d\d-\d\dT/.test(text)) {
    throw usageError(
      `${name} needs a time zone, as in 2030-01-31T12:00:00Z or +01:00 at its end (got '${text}')`,
    );
  }
  throw invalid(name, text);
}

function invalid(name: string, text: string) {
  return usageError(
    `${name} must be an instant such as 2030-01-31T12:00:00Z, or a time from now such as +10s (got '${text}')`,
  );
}
