import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const MODULE = 'millrace/deadlines';

/** Warns where a flag of Node.js loads `millrace/deadlines`, which sets no limits, in place of the module that does. */
export function warnIfPreloaded(): void {
  if (!isMainThread) return;
  const flag = findPreloadFlag(MODULE);
  if (flag === null || findPreloadFlag(`${MODULE}/register`) !== null) return;
  writeSync(
    2,
    `millrace: ${flag} ${MODULE} sets no limits; use ${flag} ${MODULE}/register to set them\n`,
  );
}

/** Returns the flag by which the command line or NODE_OPTIONS loads a module; `null` if neither does. */
function findPreloadFlag(name: string): string | null {
  const pattern = new RegExp(`(?:^|\\s)(--import|--require|-r)(?:=|\\s+)"?${name}"?(?=\\s|$)`);
  const options = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`;
  return pattern.exec(options)?.[1] ?? null;
}
