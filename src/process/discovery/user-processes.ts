import { statSync } from 'node:fs';
import { readIds, readStat } from '../procfs/procfs.js';

/** The user whose processes are those of the system. */
const ROOT = 0;

/**
 * Finds the processes of a user that runs a single program, that of the first process first: all descend from it. None
 * for other users, root and this user.
 */
export function findUserProcesses(uid: number): number[] {
  if (uid === ROOT || uid === process.getuid?.()) return [];
  const pids = readIds('/proc').filter((pid) => readUser(pid) === uid);
  const isOwn = new Set(pids);
  const roots = pids.filter((pid) => !isOwn.has(readStat(`/proc/${pid}`)?.parent ?? 0));
  return roots.length === 1 ? [...roots, ...pids.filter((pid) => !roots.includes(pid))] : [];
}

function readUser(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return null;
  }
}
