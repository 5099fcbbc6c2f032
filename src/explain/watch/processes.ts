import { once } from 'node:events';
import { accessSync, constants, lstatSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileErrorReason } from '../../errors/file-errors.js';
import { formatObserveFolder, formatObserveSocket } from '../../format/observe-socket.cjs';
import { MAX_SOCKET_PATH_BYTES } from '../../format/socket-path.cjs';
import { isNode } from '../../process/discovery/node-process.js';
import { findProcessTree } from '../../process/discovery/process-tree.js';
import { findObservePath } from '../../process/listening/unix-listeners.js';
import { readSocketInodes } from '../../process/procfs/descriptors.js';
import { hasProcfs, readText } from '../../process/procfs/procfs.js';
import type { ProbeHub } from '../observe/probe/hub.js';

const CONNECT_TIMEOUT_MS = 2000;

/** The processes of a watched service, and the channels to those that have `millrace/observe`. */
export class WatchedProcesses {
  readonly #pid: number;
  readonly #hub: ProbeHub;
  readonly #channels = new Map<number, Socket>();
  /** Why a process of Node.js is not seen from inside. */
  #gaps = new Map<number, string>();

  constructor(pid: number, hub: ProbeHub) {
    this.#pid = pid;
    this.#hub = hub;
  }

  /** Finds the processes that have started, and connects to those that can be observed. */
  async update(): Promise<void> {
    const pids = findProcessTree(this.#pid).filter((pid) => isNode(pid) !== false);
    const unconnected = pids.filter((pid) => this.#channels.get(pid)?.destroyed !== false);
    const gaps = await Promise.all(
      unconnected.map(async (pid) => [pid, await this.#connect(pid)] as const),
    );
    this.#gaps = new Map(gaps.flatMap(([pid, why]) => (why === null ? [] : [[pid, why]])));
    for (const pid of this.#channels.keys()) if (!pids.includes(pid)) this.#channels.delete(pid);
  }

  /** Whether any process is seen from inside. */
  get isAnyObserved(): boolean {
    return this.#hub.processes.length > 0;
  }

  /** Whether any process has a channel: a busy one answers late. */
  get isAnyConnected(): boolean {
    return this.isAnyObserved || [...this.#channels.values()].some(({ destroyed }) => !destroyed);
  }

  /** Why processes are not seen from inside, a sentence each; of several with the same reason the first. */
  describeGaps(pids: readonly number[]): string[] {
    const reasons = new Map<string, number>();
    const joined = new Set(this.#hub.processes.map(({ pid }) => pid));
    for (const pid of pids.filter((one) => !joined.has(one))) {
      const isLate = this.#channels.get(pid)?.destroyed === false;
      const why = this.#gaps.get(pid) ?? (isLate ? LATE : undefined);
      if (why !== undefined && !reasons.has(why)) reasons.set(why, pid);
    }
    return [...reasons].map(([why, pid]) => `inside process ${pid}: ${why}`);
  }

  /** Why any process of Node.js is not seen from inside, as above. */
  describeAllGaps(): string[] {
    return this.describeGaps([...this.#gaps.keys()]);
  }

  /** Connects to a process. Returns why that is not possible; `null` if it is connected. */
  async #connect(pid: number): Promise<string | null> {
    const path = hasProcfs ? findObservePath(pid) : findUsualPath(pid);
    if (path === null) return describeMissingSocket(pid);
    // A process in a container has the path in its own file system.
    for (const place of hasProcfs ? [path, `/proc/${pid}/root${path}`] : [path]) {
      const socket = await openSocket(place);
      if (socket === null) continue;
      this.#channels.set(pid, socket);
      return (await this.#join(pid, socket)) ? null : REFUSED;
    }
    return `its socket ${path} does not answer`;
  }

  /** Adds a channel, and waits until its process has introduced itself. Returns whether it has. */
  async #join(pid: number, socket: Socket): Promise<boolean> {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(CONNECT_TIMEOUT_MS)]);
    socket.once('close', () => ending.abort());
    const greeting = once(this.#hub.events, 'hello', { signal });
    this.#hub.add(socket, pid);
    return greeting.then(
      () => true,
      // A busy loop answers later.
      () => !socket.destroyed,
    );
  }
}

/** Opens a channel; `null` if nobody listens. */
async function openSocket(path: string): Promise<Socket | null> {
  const socket = connect(path);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return socket;
  } catch {
    socket.destroy();
    return null;
  }
}

function findUsualPath(pid: number): string {
  const uid = process.getuid?.() ?? 0;
  return join(tmpdir(), formatObserveFolder(uid), formatObserveSocket(pid));
}

const REFUSED =
  'another watch observes it, or its copy of millrace was removed or replaced after its start';
const LATE = 'it has not answered yet, as its event loop is busy';

const HOW =
  'start it with node --import millrace/observe (or that in NODE_OPTIONS), or use --attach';

/** Describes why a process does not listen for a watch. */
function describeMissingSocket(pid: number): string {
  if (readSocketInodes(pid) === null) return 'it belongs to another user; run as that user';
  const environment = (readText(`/proc/${pid}/environ`) ?? '').split('\0');
  const options = environment.find((variable) => variable.startsWith('NODE_OPTIONS='));
  const command = readText(`/proc/${pid}/cmdline`) ?? '';
  const isLoaded = /millrace\/observe|probe\/observe\.cjs/.test(`${command} ${options ?? ''}`);
  if (!isLoaded) return HOW;
  const value = (name: string) =>
    environment.find((variable) => variable.startsWith(`${name}=`))?.slice(name.length + 1);
  const places = [value('XDG_RUNTIME_DIR'), value('TMPDIR') ?? '/tmp', '/tmp'];
  const reasons = [...new Set(places)].flatMap((place) =>
    place ? [`${place}: ${describeFolder(place)}`] : [],
  );
  return `millrace/observe is loaded but found no folder for its socket (${reasons.join('; ')}): set TMPDIR or XDG_RUNTIME_DIR to a short path that it can write to, and permit it with --allow-fs-write where Node's permission model is on`;
}

/** Describes why a folder has no socket. */
function describeFolder(place: string): string {
  const folder = join(place, formatObserveFolder(process.getuid?.() ?? 0));
  if (Buffer.byteLength(join(folder, formatObserveSocket(9_999_999))) > MAX_SOCKET_PATH_BYTES) {
    return 'its path is too long';
  }
  try {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found && (found.mode & 0o077) !== 0) return `others can enter ${folder}`;
    accessSync(found ? folder : place, constants.W_OK);
    return 'it was not writable when the process started';
  } catch (error) {
    return fileErrorReason(error);
  }
}
