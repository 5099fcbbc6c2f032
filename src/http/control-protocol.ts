import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CacheEntry, CacheSelection, CacheStats } from './cache.js';

/*
 * What `millrace cache` and the processes it looks at say to each other: a line of JSON each way, on a Unix socket in a
 * directory of the user's own.
 */

/** What is asked of a process. */
export interface ControlRequest {
  do: 'show' | 'entries' | 'delete' | 'clear';
  selection?: CacheSelection;
}

/** What is known of one server of a process. */
export interface ControlledServer {
  /** Where it listens. */
  address: string;
  stats: CacheStats | null;
  /** For `entries`. */
  entries?: CacheEntry[];
  /** For `delete` and `clear`: entries that were removed. */
  removed?: number;
}

/** What a process answers. */
export interface ControlAnswer {
  pid: number;
  servers: ControlledServer[];
}

/** The directory of the sockets; `null` if there is none that is this user's alone. */
export function controlDirectory(): string | null {
  // A user without an entry in the system's list has a number all the same.
  const uid = process.getuid?.() ?? 0;
  const path = join(process.env.XDG_RUNTIME_DIR || tmpdir(), `millrace-${uid}`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return null;
  }
  try {
    // Somebody else may have made it.
    const found = lstatSync(path);
    const own = found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
    return own ? path : null;
  } catch {
    return null;
  }
}
