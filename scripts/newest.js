import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './step.js';

/** Returns when the file that changed last, of these files and of all files in these folders, was changed: ms since 1970. */
export function findNewest(names) {
  return Math.max(...names.map((name) => findNewestIn(join(root, name))));
}

function findNewestIn(path) {
  if (!statSync(path).isDirectory()) return statSync(path).mtimeMs;
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
}
