// The tables of the native stack's limits, and of its output cache's settings and counters.
import { readFileSync } from 'node:fs';
import { CACHE_SETTINGS } from '../../dist/http/cache/server-cache.js';
import { acceptedText, LIMITS } from '../../dist/http/server/limits.js';
import { readFields } from './declarations.js';
import { code, formatTable } from './tables.js';

/** The limits, from the fields of an interface of a file. */
export function formatStackLimits(name, file) {
  const rows = readFields(file, name).map(({ name: limit, comment }) => {
    const { unit, fallback } = LIMITS[limit];
    return [code(limit), unit, fallback, acceptedText(LIMITS[limit]), comment];
  });
  return formatTable(['Property', 'Unit', 'Default', 'Accepted', 'Meaning'], rows);
}

/** The settings of the output cache, from the fields of an interface of a file. */
export function formatCacheSettings(name, file) {
  const rows = readFields(file, name).map(({ name: setting, comment }) => {
    const { unit, minimum, fallback } = CACHE_SETTINGS[setting];
    const accepted = minimum === undefined ? 'true, false' : `${minimum} or more`;
    return [code(setting), unit, fallback, accepted, comment];
  });
  return formatTable(['Option', 'Unit', 'Default', 'Accepted', 'Meaning'], rows);
}

/** The counters of the output cache, from the declarations of the addon. */
export function formatCacheCounters() {
  const source = readFileSync(new URL('../../native/index.d.ts', import.meta.url), 'utf8');
  const [, body] = /interface NativeCacheStatistics \{\n([\s\S]*?)\n\}/.exec(source);
  const rows = [...body.matchAll(/\/\*\* (.*) \*\/\n\s*(\w+):/g)].map(([, meaning, name]) => [
    code(name),
    meaning,
  ]);
  return formatTable(['Field', 'Counts'], rows);
}
