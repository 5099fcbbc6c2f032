import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDependency } from './dependencies/start.js';

/** The block that is written to a slow file at once. */
export const block = Buffer.alloc(128 * 1024, 'x');

/** Opens `count` files for writing on a disk that takes `ms` for each block. */
export async function slowFiles(count, ms) {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const paths = Array.from({ length: count }, (_, i) => join(directory, `${i}`));
  spawnSync('mkfifo', paths);
  await startDependency('disk', { ms, directory, count, block: block.length });
  const files = await Promise.all(paths.map((path) => open(path, 'w')));
  rmSync(directory, { recursive: true });
  return files;
}
