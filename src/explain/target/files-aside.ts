import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Memory as a file system, on Linux. */
const MEMORY = '/dev/shm';
const DIRECTORY = join(existsSync(MEMORY) ? MEMORY : tmpdir(), `millrace-files-${process.pid}`);

/** Name of the directory by which the probe shows that one of the files was used. */
const USED = 'used';

/** Returns the environment of a server that finds these files missing, and has them in memory instead. */
export function buildAsideEnvironment(files: string[]): Record<string, string> {
  return { MILLRACE_PROBE_ASIDE: JSON.stringify({ files, directory: DIRECTORY }) };
}

/** Whether the last such server had any of its files there: it may name them differently at each start. */
export function hasAsideFiles(): boolean {
  if (!existsSync(DIRECTORY)) return false;
  const folders = readdirSync(DIRECTORY).map((name) => join(DIRECTORY, name));
  const changedMs = (folder: string) => statSync(folder).mtimeMs;
  const [last] = folders.sort((a, b) => changedMs(b) - changedMs(a));
  return last !== undefined && existsSync(join(last, USED));
}

/** Removes what such servers wrote. */
export function removeAsideFiles(): void {
  rmSync(DIRECTORY, { recursive: true, force: true });
}
