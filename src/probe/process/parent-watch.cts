import { readFileSync } from 'node:fs';

/**
 * The process group of the command that millrace has started, whose first process is its child; `null` if this process is not
 * in it. What the command leaves behind for others (a daemon) is in a group of its own.
 *
 * @param millracePid its process id
 */
export function findCommandGroup(millracePid: number): number | null {
  try {
    const { group } = readRelations('self');
    return readRelations(group).parent === millracePid ? Number(group) : null;
  } catch {
    // No /proc, or that process has gone.
    return null;
  }
}

/** See proc_pid_stat(5); the name, which comes before, may hold anything. */
function readRelations(pid: string): { parent: number; group: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [, parent = '', group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), group };
}
