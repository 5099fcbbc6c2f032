import { hasProcfs, readStat, readText } from '../procfs/procfs.js';
import { isNode, readProgramName } from './node-process.js';
import { findProcessTree } from './process-tree.js';

/** Returns `ok` if a pid belongs to a Node.js process, otherwise the reason in one line. */
export function checkPid(pid: number): string {
  if (!Number.isInteger(pid) || pid <= 0) return `pid must be a process id (got ${pid})`;
  if (!isRunning(pid)) return `pid ${pid}: there is no such process`;
  if (!hasProcfs) return 'ok';
  const owner = Number(/^Tgid:\s*(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1] ?? pid);
  if (owner !== pid) return `pid ${pid} is a thread of process ${owner}: give that id`;
  if (['Z', 'X', undefined].includes(readStat(`/proc/${pid}`)?.state)) {
    return `pid ${pid}: the process has ended`;
  }
  switch (isNode(pid)) {
    case true:
      return 'ok';
    case false:
      return `pid ${pid} is ${readProgramName(pid) ?? "the kernel's"}, not Node.js${describeNodeDescendant(pid)}`;
    default:
      return `pid ${pid}: cannot tell whether it is Node.js; run as its user or as root`;
  }
}

/** Whether there is a process with this pid, also of another user. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function describeNodeDescendant(pid: number): string {
  const child = findProcessTree(pid).find((descendant) => isNode(descendant));
  return child === undefined ? '' : `; its descendant ${child} is`;
}
