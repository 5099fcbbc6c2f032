import { readdirSync, readFileSync } from 'node:fs';

/** Files that the command line has open at most, with its modules and without connections. */
const MIN_FILES = 80;

/** Says that the limit of open files is too low for any command; `null` if it is not. */
export function describeFewFiles(): string | null {
  const limit = readFileLimit();
  if (limit === null || limit >= MIN_FILES) return null;
  return `the limit of open files is ${limit} (ulimit -n): at least ${MIN_FILES} are needed, and one for each connection`;
}

/** Reads how many files this process may have open; `null` where the system does not tell. */
export function readFileLimit(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return limit === undefined ? null : Number(limit);
  } catch {
    return null;
  }
}

/** Counts the files that this process has open; `null` where the system does not tell. */
export function countOpenFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}
