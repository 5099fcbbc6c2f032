import { usageError } from '../../errors.js';
import type { LoadOptions } from '../options.js';

/** Refuses a pid that is not a running process. */
export function checkPid(pid: LoadOptions['pid']): void {
  if (pid === undefined || pid === false) return;
  if (Number.isSafeInteger(pid) && pid > 0 && isRunning(pid)) return;
  throw usageError(`pid must be the id of a running process (got ${pid})`);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process exists all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
