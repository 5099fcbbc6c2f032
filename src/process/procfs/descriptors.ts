import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { readText } from './procfs.js';

/** Counts the open descriptors of a process; `null` if it has ended, or if it is another user's before Linux 6.2. */
export function countDescriptors(pid: number): number | null {
  const folder = `/proc/${pid}/fd`;
  try {
    // Since Linux 6.2 the size of the folder is their number. Before, it is 0, and the entries have to be counted.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return null;
  }
}

/** The soft limit RLIMIT_NOFILE; infinite if there is none, `null` if it cannot be read. */
export function readDescriptorLimit(pid: number): number | null {
  const limits = readText(`/proc/${pid}/limits`);
  const soft = limits && /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (!soft) return null;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/**
 * The target of each descriptor of a process, such as `socket:[4711]`, `pipe:[12]`, `/dev/null`; `null` if they cannot
 * be read.
 */
export function readDescriptorTargets(pid: number): string[] | null {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((descriptor) => readTarget(`${folder}/${descriptor}`));
  } catch {
    return null;
  }
}

/** The inodes of a process's sockets; `null` if they cannot be read. */
export function readSocketInodes(pid: number): number[] | null {
  const targets = readDescriptorTargets(pid);
  if (targets === null) return null;
  return targets.flatMap((target) => {
    const socket = /^socket:\[(\d+)\]$/.exec(target);
    return socket === null ? [] : [Number(socket[1])];
  });
}

function readTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
