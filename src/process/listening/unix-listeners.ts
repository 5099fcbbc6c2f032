import { findNetworkFolder } from '../discovery/namespace.js';
import { findProcessTree } from '../discovery/process-tree.js';
import { readSocketInodes } from '../procfs/descriptors.js';
import { readText } from '../procfs/procfs.js';

/** `__SO_ACCEPTCON` in the flags of `/proc/net/unix`. */
const LISTENING = 0x10000;
/** Flags, inode and path of a line; a path may contain spaces. */
const LINE = /^\S+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\d+)\s(\/.*)$/;

/** Finds the paths on which a process or a descendant listens, without those of the abstract namespace (`@...`). */
export function findListeningPaths(pid: number): string[] {
  const inodes = new Set(
    findProcessTree(pid).flatMap((process) => readSocketInodes(process) ?? []),
  );
  const lines = (readText(`${findNetworkFolder(pid)}/unix`) ?? '').split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, flags = '0', inode = '', path = ''] = LINE.exec(line) ?? [];
    const isListening = (Number.parseInt(flags, 16) & LISTENING) !== 0;
    return isListening && inodes.has(Number(inode)) ? [path] : [];
  });
}
