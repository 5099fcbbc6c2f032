import { findProcessTree } from '../../process/discovery/process-tree.js';
import { readSocketInodes } from '../../process/procfs/descriptors.js';
import type { TcpSocket } from '../../process/procfs/tcp-table.js';

/** Determines which sockets the server's processes own. The lookup reads every descriptor, so results are cached. */
export class SocketOwners {
  readonly #pid: number;
  /** Whether the server owns a socket, by inode. */
  #owned = new Map<number, boolean>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Selects the sockets that the server owns; none if its descriptors cannot be read. */
  selectOwned(sockets: TcpSocket[]): TcpSocket[] {
    const known = this.#owned;
    const isNew = sockets.some(({ inode }) => !known.has(inode));
    const ownInodes = new Set(
      isNew ? findProcessTree(this.#pid).flatMap((pid) => readSocketInodes(pid) ?? []) : [],
    );
    // Sockets that left the table are removed from the cache: their inode may be reused.
    this.#owned = new Map(
      sockets.map(({ inode }) => [inode, known.get(inode) ?? ownInodes.has(inode)]),
    );
    return sockets.filter(({ inode }) => this.#owned.get(inode));
  }
}
