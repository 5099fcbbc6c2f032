import { statSync } from 'node:fs';
import { readIds } from '../procfs/procfs.js';

/** The user whose processes are those of the system. */
const ROOT = 0;

/** Finds the processes of a user that runs a single service; none for root and for this user, who run many. */
export function findUserProcesses(uid: number): number[] {
  if (uid === ROOT || uid === process.getuid?.()) return [];
  return readIds('/proc').filter((pid) => readUser(pid) === uid);
}

function readUser(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return null;
  }
}
