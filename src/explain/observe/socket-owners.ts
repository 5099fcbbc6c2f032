import { processTree } from '../../process/discovery/process-tree.js';
import { socketInodes } from '../../process/procfs/descriptors.js';
import type { TcpSocket } from '../../process/procfs/tcp-table.js';

/** Tells which sockets the server's processes hold. To look that up takes time with every descriptor: it is remembered. */
export class SocketOwners {
  readonly #pid: number;
  /** By inode. */
  #owned = new Map<number, boolean>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Those of the sockets that are the server's; none where its descriptors may not be read. */
  selectOwned(sockets: TcpSocket[]): TcpSocket[] {
    const known = this.#owned;
    const isNew = sockets.some(({ inode }) => !known.has(inode));
    const ownInodes = new Set(
      isNew ? processTree(this.#pid).flatMap((pid) => socketInodes(pid) ?? []) : [],
    );
    // What is not in the table any more is forgotten: its number may come again.
    this.#owned = new Map(
      sockets.map(({ inode }) => [inode, known.get(inode) ?? ownInodes.has(inode)]),
    );
    return sockets.filter(({ inode }) => this.#owned.get(inode));
  }
}
