import { parseObserveSocket } from '../../format/observe-socket.cjs';
import { findNetworkFolder } from '../discovery/namespace.js';
import { findProcessTree } from '../discovery/process-tree.js';
import { readSocketInodes } from '../procfs/descriptors.js';
import { readText } from '../procfs/procfs.js';

/** `__SO_ACCEPTCON` in the flags of `/proc/net/unix`. */
const LISTENING = 0x10000;
/** Flags, inode and path of a line; a path may contain spaces. */
const LINE = /^\S+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\d+)\s(\/.*)$/;

/**
 * Finds the paths on which a process or a descendant listens, without those of the abstract namespace (`@...`) and those
 * of `millrace/observe`.
 */
export function findListeningPaths(pid: number): string[] {
  return readListeningPaths(pid, findProcessTree(pid)).filter(
    (path) => parseObserveSocket(path) === null,
  );
}

/** Finds the path at which a process listens for a watch, by `millrace/observe`; `null` if it does not. */
export function findObservePath(pid: number): string | null {
  const paths = readListeningPaths(pid, [pid]);
  return paths.find((path) => parseObserveSocket(path) !== null) ?? null;
}

/** Reads the paths on which any of some processes listens, which have the network tables of the first one. */
function readListeningPaths(first: number, pids: number[]): string[] {
  const inodes = new Set(pids.flatMap((process) => readSocketInodes(process) ?? []));
  const lines = (readText(`${findNetworkFolder(first)}/unix`) ?? '').split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, flags = '0', inode = '', path = ''] = LINE.exec(line) ?? [];
    const isListening = (Number.parseInt(flags, 16) & LISTENING) !== 0;
    return isListening && inodes.has(Number(inode)) ? [path] : [];
  });
}
