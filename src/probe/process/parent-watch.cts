import { readFileSync } from 'node:fs';

/**
 * Finds the process group of the command that Millrace started, whose first process is Millrace's child. Returns `null`
 * if this process is not in that group: a daemon of the command has a group of its own.
 *
 * @param millracePid Millrace's process id
 */
export function findCommandGroup(millracePid: number): number | null {
  try {
    const { group } = readRelations('self');
    return readRelations(group).parent === millracePid ? Number(group) : null;
  } catch {
    // No /proc, or the process has ended.
    return null;
  }
}

/** Reads parent and group, see proc_pid_stat(5). The name before them may contain anything. */
function readRelations(pid: string): { parent: number; group: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [, parent = '', group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), group };
}
