import { mustBe } from '../../validation/shape.js';
import { type Duration, hasDurationUnit, parseDuration } from '../../validation/units.js';

/** Reads a pause: a duration, or a range of them such as `1-3s` or `500ms-2s`. In milliseconds. */
export function readPause(time: Duration, where: string): { leastMs: number; mostMs: number } {
  const name = `${where}: pause`;
  const [, from, to] = /^\s*([\d.]+[a-zµ\d.]*)\s*-\s*(\S+)\s*$/.exec(String(time)) ?? [];
  if (from === undefined || to === undefined) {
    const ms = parseDuration(time, name);
    return { leastMs: ms, mostMs: ms };
  }
  const unit = /[a-zµ]+$/.exec(to)?.[0] ?? '';
  const [least, most] = [hasDurationUnit(from) ? from : `${from}${unit}`, to];
  const [leastMs, mostMs] = [parseDuration(least, name), parseDuration(most, name)];
  if (leastMs <= mostMs) return { leastMs, mostMs };
  throw mustBe(name, 'a duration or a range such as 500ms, 1-3s or 500ms-2s', time);
}
