import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FilesAside } from '../../probe/runtime/files-aside.cjs';

/** Memory as a file system, on Linux. */
const MEMORY = '/dev/shm';
const DIRECTORY = join(existsSync(MEMORY) ? MEMORY : tmpdir(), `millrace-files-${process.pid}`);

/** Name of the directory that the probe makes when one of the files is used. */
const MARKER = 'used';

/** Returns the environment of a server that finds these files missing, and has them in memory instead. */
export function buildAsideEnvironment(files: string[]): Record<string, string> {
  const aside: FilesAside = { files, directory: DIRECTORY, marker: MARKER };
  return { MILLRACE_PROBE_ASIDE: JSON.stringify(aside) };
}

/** Whether the last such server had any of its files there: it may name them differently at each start. */
export function hasAsideFiles(): boolean {
  if (!existsSync(DIRECTORY)) return false;
  const folders = readdirSync(DIRECTORY).map((name) => join(DIRECTORY, name));
  const changedMs = (folder: string) => statSync(folder).mtimeMs;
  const [last] = folders.sort((a, b) => changedMs(b) - changedMs(a));
  return last !== undefined && existsSync(join(last, MARKER));
}

/** Removes what such servers wrote. */
export function removeAsideFiles(): void {
  rmSync(DIRECTORY, { recursive: true, force: true });
}
