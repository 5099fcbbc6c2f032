import { socketInodes } from '../procfs/descriptors.js';
import { readText } from '../procfs/procfs.js';
import { networkFolder } from './namespace.js';
import { processTree } from './process-tree.js';

/** `__SO_ACCEPTCON` in the flags of `/proc/net/unix`. */
const LISTENING = 0x10000;
/** Flags, inode and path of a line; a path may have spaces. */
const LINE = /^\S+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\d+)\s(\/.*)$/;

/** The paths on which a process or a descendant listens, those of the abstract namespace (`@...`) apart. */
export function listeningPaths(pid: number): string[] {
  const held = new Set(processTree(pid).flatMap((process) => socketInodes(process) ?? []));
  const lines = (readText(`${networkFolder(pid)}/unix`) ?? '').split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, flags = '0', inode = '', path = ''] = LINE.exec(line) ?? [];
    const isListening = (Number.parseInt(flags, 16) & LISTENING) !== 0;
    return isListening && held.has(Number(inode)) ? [path] : [];
  });
}
