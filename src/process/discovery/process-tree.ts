import { existsSync } from 'node:fs';
import { readIds, readStat, readText } from '../procfs/procfs.js';

/**
 * A process and all its descendants, the process first. This process and what it started are left out, unless the
 * tree is its own: a server that started millrace is not to be charged with millrace.
 */
export function processTree(root: number): number[] {
  const childrenOf = listsChildren() ? readChildren : scanForChildren();
  const tree = [root];
  for (const pid of tree) {
    for (const child of childrenOf(pid)) {
      if (child !== process.pid && !tree.includes(child)) tree.push(child);
    }
  }
  return tree;
}

/** The parent, its parent and so on up to the first process of the system or the container. */
export function ancestors(pid: number): number[] {
  const line: number[] = [];
  for (let at = parentOf(pid); at > 0 && !line.includes(at); at = parentOf(at)) line.push(at);
  return line;
}

function parentOf(pid: number): number {
  return readStat(`/proc/${pid}`)?.parent ?? 0;
}

/** A kernel built without CONFIG_PROC_CHILDREN does not list the children of a thread. */
function listsChildren(): boolean {
  return existsSync(`/proc/self/task/${process.pid}/children`);
}

/** A child is listed with the thread that forked it. */
function readChildren(pid: number): number[] {
  return readIds(`/proc/${pid}/task`).flatMap((thread) => {
    const list = readText(`/proc/${pid}/task/${thread}/children`)?.trim();
    return list ? list.split(' ').map(Number) : [];
  });
}

function scanForChildren(): (pid: number) => number[] {
  const parents = new Map(readIds('/proc').map((pid) => [pid, parentOf(pid)]));
  return (pid) => [...parents.keys()].filter((child) => parents.get(child) === pid);
}
