// --profile of explain: a folder for the profiles of other tools.
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileErrorReason } from '../../errors/file-errors.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import type { CpuProfile, Explanation } from '../../index.js';

/** Refuses, before the run, a folder that cannot be written or created. */
export function checkProfileFolder(folder: string): void {
  const refuse = (reason: string) =>
    usageError(`--profile: '${folder}' cannot be written: ${reason}`);
  if (folder === '') throw refuse('no folder is named');
  try {
    const nearest = findExisting(resolve(folder));
    if (!statSync(nearest).isDirectory())
      throw refuse(nearest === resolve(folder) ? 'it is a file' : `'${nearest}' is a file`);
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw refuse(fileErrorReason(error));
  }
}

/** Writes the profiles of an explanation. Returns their names. Throws a usage error if one cannot be written. */
export async function writeProfiles(
  folder: string,
  explanation: Explanation,
  cpuProfile: CpuProfile | null,
): Promise<string[]> {
  const { listProfileFiles } = await import('../../report/profiles/files.js');
  const files = listProfileFiles(explanation, cpuProfile);
  try {
    mkdirSync(folder, { recursive: true });
    for (const { name, content } of files) writeFileSync(join(folder, name), content);
  } catch (error) {
    throw usageError(`--profile: '${folder}' cannot be written: ${fileErrorReason(error)}`);
  }
  return files.map(({ name }) => name);
}

function findExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : findExisting(dirname(path));
}
