import { findProcessTree } from '../../process/discovery/process-tree.js';
import { findUserProcesses } from '../../process/discovery/user-processes.js';
import { findPortOwner, findPortUser, isThisMachine } from '../../process/listening/port-owners.js';
import { readExecutableName } from '../../process/procfs/executable-name.js';
import { readText } from '../../process/procfs/procfs.js';
import { ObservedProcesses, sumRunShares } from './observed-processes.js';
import type { RateWindow } from './rate-window.js';
import type { LocalDependency } from './types.js';

/** The other end of a connection that the server opened: `host:port`, an IPv6 address in brackets. */
export type Peer = string;

/** Maximum number of programs that are observed. */
const MAX_PROGRAMS = 16;

/**
 * Observes the processes on this machine that a server has connections to, such as those of a database. Looking a peer
 * up reads the descriptors of all processes, so each is looked up once.
 */
export class LocalDependencies {
  readonly #known = new Set<Peer>();
  /** By the process that all others of the dependency descend from, or its user. */
  readonly #programs = new Map<string, ObservedProgram>();

  /**
   * Adds the processes of all peers, except for those of the server itself.
   *
   * @param peers those that the server is connected to now
   * @param serverPids the processes of the server
   */
  update(peers: Peer[], serverPids: number[]): void {
    for (const peer of peers) {
      if (!this.#known.has(peer) && this.#programs.size < MAX_PROGRAMS) this.#lookUp(peer);
    }
    for (const program of this.#programs.values()) program.update(serverPids);
  }

  read(): void {
    for (const { processes } of this.#programs.values()) processes.read();
  }

  close(): void {
    for (const { processes } of this.#programs.values()) processes.close();
  }

  /** What each program used in a time; those without a process then are left out. */
  use(window: RateWindow): LocalDependency[] {
    return [...this.#programs.values()].flatMap((program) => program.use(window));
  }

  #lookUp(peer: Peer): void {
    this.#known.add(peer);
    const colon = peer.lastIndexOf(':');
    const host = peer.slice(0, colon).replace(/^\[|\]$/g, '');
    const port = Number(peer.slice(colon + 1));
    if (!isThisMachine(host)) return;
    const owner = findPortOwner(port, host);
    const user = owner === null ? findPortUser(port, host) : null;
    if (owner === null && user === null) return;
    const key = owner === null ? `user ${user}` : `process ${owner}`;
    const known = this.#programs.get(key);
    if (known) known.peers.push(peer);
    else {
      const list = () => (owner === null ? findUserProcesses(user ?? 0) : findProcessTree(owner));
      this.#programs.set(key, new ObservedProgram(peer, list));
    }
  }
}

/** The processes of one dependency. */
class ObservedProgram {
  readonly processes = new ObservedProcesses();
  readonly peers: Peer[];
  readonly #list: () => number[];
  #name: string | null = null;

  constructor(peer: Peer, list: () => number[]) {
    this.peers = [peer];
    this.#list = list;
  }

  update(serverPids: number[]): void {
    const pids = this.#list().filter((pid) => pid !== process.pid);
    // What the server itself belongs to, such as a supervisor, is no dependency.
    if (pids.some((pid) => serverPids.includes(pid))) return;
    // A dependency is found some time after its start.
    this.processes.add(pids, null);
    const [first = 0] = pids;
    // The name of the first thread, which Node.js sets, only where the program cannot be seen.
    this.#name ??= readExecutableName(first) ?? readText(`/proc/${first}/comm`)?.trim() ?? null;
  }

  use(window: RateWindow): LocalDependency[] {
    const threads = this.processes.use(window).flatMap(({ main, others }) => [main, ...others]);
    if (threads.length === 0) return [];
    const busiest = threads.reduce((most, thread) => (thread.run > most.run ? thread : most));
    return [
      {
        peers: [...this.peers],
        program: this.#name ?? 'a program',
        cores: Math.max(sumRunShares(threads), this.processes.computeCores(window)),
        queued: threads.reduce((sum, { queued }) => sum + queued, 0),
        busiestThread: { run: busiest.run, queued: busiest.queued },
      },
    ];
  }
}
