import { readFileSync } from 'node:fs';

/**
 * Whether this process is in the process group of the command that millrace has started, whose first process is its child.
 * What the command leaves behind for others (a daemon) is in a group of its own.
 *
 * @param millrace its process id
 */
export function isOfCommand(millrace: number): boolean {
  try {
    const { group } = relations('self');
    return relations(group).parent === millrace;
  } catch {
    // No /proc, or that process has gone.
    return false;
  }
}

/** See proc_pid_stat(5); the name, which comes before, may hold anything. */
function relations(pid: string): { parent: number; group: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [, parent = '', group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), group };
}
