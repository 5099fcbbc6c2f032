import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileErrorReason } from '../errors/file-errors.js';
import { usageError } from '../errors/millrace-error.js';

/**
 * Creates a folder for temporary files that only this user can access, and passes it to `use`. Tries other locations if
 * the system's default is missing, not writable, or one in which `use` fails.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` if there is none.
 */
export async function withTemporaryFolder<Result>(
  name: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const places = [tmpdir(), process.env.XDG_RUNTIME_DIR, '/tmp', '/dev/shm'];
  let reason = '';
  for (const place of new Set(places)) {
    if (!place) continue;
    try {
      return await makeFolder(join(place, `${name}-`), use);
    } catch (error) {
      reason ||= `${place}: ${fileErrorReason(error)}`;
    }
  }
  throw usageError(`no usable folder for temporary files (${reason}): set TMPDIR to another one`);
}

async function makeFolder<Result>(
  prefix: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(prefix);
  try {
    return await use(folder);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}
