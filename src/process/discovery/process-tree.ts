import { existsSync } from 'node:fs';
import { readIds, readStat, readText } from '../procfs/procfs.js';

/**
 * Finds a process and all its descendants, the process first. This process and its descendants are left out, unless it
 * is the root: a server that started Millrace must not be charged for it.
 */
export function findProcessTree(root: number): number[] {
  const childrenOf = listsChildren() ? readChildren : scanForChildren();
  const tree = [root];
  for (const pid of tree) {
    for (const child of childrenOf(pid)) {
      if (child !== process.pid && !tree.includes(child)) tree.push(child);
    }
  }
  return tree;
}

/** Finds the parent, its parent and so on, up to the first process of the system or container. */
export function findAncestors(pid: number): number[] {
  const line: number[] = [];
  for (let at = readParent(pid); at > 0 && !line.includes(at); at = readParent(at)) line.push(at);
  return line;
}

function readParent(pid: number): number {
  return readStat(`/proc/${pid}`)?.parent ?? 0;
}

/** A kernel without CONFIG_PROC_CHILDREN does not list the children of a thread. */
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
  const parents = new Map(readIds('/proc').map((pid) => [pid, readParent(pid)]));
  return (pid) => [...parents.keys()].filter((child) => parents.get(child) === pid);
}
