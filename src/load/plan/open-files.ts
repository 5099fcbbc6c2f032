import { usageError } from '../../errors/millrace-error.js';
import { plural } from '../../format/units.js';
import type { NativePlan } from '../../native/addon.js';
import { countOpenFiles, readFileLimit } from '../../process/open-files.js';

/** The limit of files that this process may have open, and how many it needs for a run. */
export interface OpenFiles {
  limit: number;
  needed: number;
}

/** Of each thread of the engine: the poll, its timer, its registry and the thread's times. */
const FILES_PER_THREAD = 4;

/** What else is opened during a run: samples of the server, names, modules. */
const OTHER_FILES = 12;

/**
 * Reads the limit, and counts what a run needs; `null` where the system does not tell. Throws `ERR_MILLRACE_USAGE` if not a
 * single connection to each server could be opened: with fewer than it asks for a run goes on.
 */
export function checkOpenFiles({
  connections,
  threads,
  origins,
  ...plan
}: NativePlan): OpenFiles | null {
  const limit = readFileLimit();
  const open = countOpenFiles();
  if (limit === null || open === null) return null;
  const base = open + FILES_PER_THREAD * threads + OTHER_FILES;
  const isInTurn = plan.startRate === undefined && !plan.pinned;
  const needed = base + connections * (isInTurn ? origins.length : 1);
  if (limit < base + origins.length) {
    throw usageError(
      `the limit of open files is ${limit} (ulimit -n), and a run with ${plural(connections, 'connection')} needs ${needed}`,
    );
  }
  return { limit, needed };
}
