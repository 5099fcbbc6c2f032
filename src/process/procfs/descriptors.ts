import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { readText } from './procfs.js';

/** Number of open descriptors of a process; `null` if it is gone, or another user's before Linux 6.2. */
export function countDescriptors(pid: number): number | null {
  const folder = `/proc/${pid}/fd`;
  try {
    // Since Linux 6.2 the folder's size is their number; before that it is 0, and counting takes its time.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return null;
  }
}

/** RLIMIT_NOFILE, the soft one that counts; infinite if there is none, `null` if it cannot be read. */
export function descriptorLimit(pid: number): number | null {
  const limits = readText(`/proc/${pid}/limits`);
  const soft = limits && /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (!soft) return null;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** What each descriptor of a process is, as in `socket:[4711]`, `pipe:[12]`, `/dev/null`; `null` if they may not be read. */
export function descriptorTargets(pid: number): string[] | null {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((descriptor) => readTarget(`${folder}/${descriptor}`));
  } catch {
    return null;
  }
}

/** The inodes of the sockets that a process holds; `null` if they may not be read. */
export function socketInodes(pid: number): number[] | null {
  const targets = descriptorTargets(pid);
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
