import { usageError } from '../../errors/millrace-error.js';
import { isRunning } from '../../process/discovery/check-pid.js';
import type { LoadOptions } from '../options.js';

/** Refuses a pid that is not a running process. */
export function refuseOtherPid(pid: LoadOptions['pid']): void {
  if (pid === undefined || pid === false) return;
  if (Number.isSafeInteger(pid) && pid > 0 && isRunning(pid)) return;
  throw usageError(`pid must be the id of a running process (got ${pid})`);
}
