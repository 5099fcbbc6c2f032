import { hasProcfs, readStat, readText } from '../procfs/procfs.js';
import { isNode, programOf } from './node-process.js';
import { processTree } from './process-tree.js';

/** `ok` if a pid is that of a Node process, else what speaks against it, in one line. */
export function checkPid(pid: number): string {
  if (!Number.isInteger(pid) || pid <= 0) return `pid must be a process id (got ${pid})`;
  if (!exists(pid)) return `no process has the id ${pid}`;
  if (!hasProcfs) return 'ok';
  const owner = Number(/^Tgid:\s*(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1] ?? pid);
  if (owner !== pid) return `${pid} is a thread: its process is ${owner}`;
  if (['Z', 'X', undefined].includes(readStat(`/proc/${pid}`)?.state)) {
    return `process ${pid} has ended`;
  }
  switch (isNode(pid)) {
    case true:
      return 'ok';
    case false:
      return `process ${pid} is ${programOf(pid) ?? "the kernel's"}, not Node.js${nodeBelow(pid)}`;
    default:
      return `process ${pid} does not show whether it is Node.js: run as its user, or as root`;
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function nodeBelow(pid: number): string {
  const child = processTree(pid).find((descendant) => isNode(descendant));
  return child === undefined ? '' : `; its descendant ${child} is`;
}
