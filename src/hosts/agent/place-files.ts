import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import type { SentTree } from '../messages.js';

/** Writes the files of a run into a folder, and makes the place that stands for the sender's folder the working one. */
export function placeFiles({ files, cwd, packages }: SentTree, folder: string): void {
  for (const { path, content } of files) {
    const file = locate(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(content, 'base64'), { mode: 0o600 });
  }
  for (const name of packages) linkPackage(name, folder);
  const work = locate(folder, cwd);
  mkdirSync(work, { recursive: true });
  process.chdir(work);
}

function locate(folder: string, path: string): string {
  const found = resolve(folder, path);
  if (found === folder || found.startsWith(folder + sep)) return found;
  throw usageError(`'${path}' is outside the folder of the run`);
}

/** Lets the files import a package of this machine. */
function linkPackage(name: string, folder: string): void {
  const here = process.cwd();
  const found = findPackage(name, here);
  if (found === null) {
    throw usageError(
      `the scenario imports '${name}', which is not installed there: npm install ${name} in ${here}`,
    );
  }
  const link = join(folder, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(found, link, 'junction');
}

function findPackage(name: string, folder: string): string | null {
  const path = join(folder, 'node_modules', name);
  if (existsSync(path)) return path;
  const above = dirname(folder);
  return above === folder ? null : findPackage(name, above);
}
