import { constants, setPriority } from 'node:os';

/**
 * Lowers the priority of this thread once the threads of the engine run, so that they go first on a shared core. On
 * Linux a thread has a priority of its own, elsewhere the process has one.
 */
export function lowerPriority(): void {
  try {
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The system does not permit it: the schedule may be less exact.
  }
}
