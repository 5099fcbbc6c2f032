import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Memory as a file system, on Linux. */
const MEMORY = '/dev/shm';
const DIRECTORY = join(existsSync(MEMORY) ? MEMORY : tmpdir(), `millrace-files-${process.pid}`);

/** Returns the environment of a server that finds these files missing, and has them in memory instead. */
export function buildAsideEnvironment(files: string[]): Record<string, string> {
  return { MILLRACE_PROBE_ASIDE: JSON.stringify({ files, directory: DIRECTORY }) };
}

/** Removes what such servers wrote. */
export function removeAsideFiles(): void {
  rmSync(DIRECTORY, { recursive: true, force: true });
}
