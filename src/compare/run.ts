import { usageError } from '../errors/millrace-error.js';
import { OTHER_LOAD_NAMES } from '../load/option-schema.js';
import { checkOptions } from '../validation/shape.js';
import { COMPARE_OPTIONS } from './option-schema.js';
import type { CompareOptions } from './options.js';
import type { CompareProgress, ComparisonResult } from './result.js';
import { compareServers } from './servers/servers.js';
import { isStored } from './servers/sides.js';
import { readSettings } from './settings.js';
import { compareStored } from './stored/stored-comparison.js';

/** Checks the options, and compares what the two sides are. */
export async function run(
  options: CompareOptions,
  onProgress: (progress: CompareProgress) => void,
): Promise<ComparisonResult> {
  checkOptions(options, COMPARE_OPTIONS, OTHER_LOAD_NAMES);
  for (const side of ['a', 'b'] as const) {
    if (!options[side]) throw usageError(`${side} is needed: compare({ a: {...}, b: {...} })`);
  }
  const settings = readSettings(options);
  const stored = [options.a, options.b].filter(isStored).length;
  if (stored === 0) return compareServers(options, settings, onProgress);
  if (stored === 2) return compareStored(options, settings);
  throw usageError(
    'stored results can be compared with stored results only: give files for A and for B',
  );
}
