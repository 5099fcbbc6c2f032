import { EventEmitter, once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAX_SOCKET_PATH_BYTES } from '../../../format/socket-path.cjs';
import type { Answers, CommandName, Commands, Hello } from '../../../probe/protocol.cjs';
import { withTemporaryFolder } from '../../../process/temporary-folder.js';
import type { InsideView } from '../types.js';
import { findHeapExhaustion, type HeapExhaustion } from './heap-exhaustion.js';
import { ProbedProcess } from './process.js';
import { buildProbeView } from './view.js';

/** The script that loads the probe inside the server, by `--require`. */
export const PRELOAD = fileURLToPath(new URL('../../../probe/preload.cjs', import.meta.url));

interface ProbeEvents {
  /** A process has introduced itself, or has reported a change. */
  hello: [Hello];
  /** A process has ended, or has closed its channel. */
  left: [Hello];
  /** A sample has arrived. */
  sample: [Hello];
}

/** What the probes of a hub observe. */
export interface ProbeHubOptions {
  /** Requests of HTTP/2 too. Default `false`: then the probe leaves `node:http2` alone. */
  http2?: boolean;
}

/**
 * Opens the socket to which probes connect; only this user can reach it.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` if there is no folder for it.
 */
export async function openProbeHub(options: ProbeHubOptions = {}): Promise<ProbeHub> {
  if (process.platform === 'win32') {
    return startHub(`\\\\.\\pipe\\millrace-probe-${process.pid}`, null, options);
  }
  return withTemporaryFolder('millrace', async (folder) => {
    const path = join(folder, 'probe');
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) throw new Error('its path is too long');
    return startHub(path, folder, options);
  });
}

async function startHub(
  path: string,
  folder: string | null,
  options: ProbeHubOptions,
): Promise<ProbeHub> {
  const hub = new ProbeHub(path, folder, options);
  await hub.listen();
  return hub;
}

/** The server side of the probes' channels. */
export class ProbeHub {
  /** Path of the socket to which probes connect. */
  readonly path: string;
  readonly events = new EventEmitter<ProbeEvents>();
  readonly #folder: string | null;
  readonly #observesHttp2: boolean;
  readonly #server: Server;
  /** Includes the processes that have left, as far as they served in the time of interest. */
  readonly #all = new Set<ProbedProcess>();
  readonly #open = new Set<Socket>();
  #ports: number[] | null = null;

  /** @param folder the folder of the path, if it was created for it */
  constructor(path: string, folder: string | null, { http2 = false }: ProbeHubOptions) {
    this.path = path;
    this.#observesHttp2 = http2;
    this.#folder = folder;
    this.#server = createServer((socket) => this.add(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, 'listening');
  }

  /**
   * Adds the channel to a probe: one that has connected here, or one that this process has connected to.
   *
   * @param pid the id of its process as this process sees it, if it is known
   */
  add(socket: Socket, pid: number | null = null): void {
    this.#open.add(socket);
    const listeners = {
      onHello: (hello: Hello) => {
        if (!this.#all.has(probed)) this.#greet(probed);
        this.#all.add(probed);
        this.events.emit('hello', hello);
      },
      onSample: (hello: Hello) => this.events.emit('sample', hello),
    };
    const probed = new ProbedProcess(socket, listeners, pid);
    socket.on('close', () => {
      this.#open.delete(socket);
      if (probed.hello) this.events.emit('left', probed.hello);
    });
  }

  #greet(probed: ProbedProcess): void {
    if (this.#ports !== null) this.#sendPorts(probed);
    if (this.#observesHttp2) probed.command('observeHttp2', {}).catch(() => {});
  }

  #sendPorts(probed: ProbedProcess): void {
    // A process that ends meanwhile serves nothing any more.
    probed.command('setPorts', { ports: this.#ports }).catch(() => {});
  }

  get #connected(): ProbedProcess[] {
    return [...this.#all].filter(({ isConnected }) => isConnected);
  }

  /** Returns an environment in which a process and all its descendants load the probe. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    return {
      ...base,
      MILLRACE_PROBE: this.path,
      MILLRACE_PROBE_OF: String(process.pid),
      NODE_OPTIONS: [base.NODE_OPTIONS, `--require ${quoteOption(PRELOAD)}`]
        .filter(Boolean)
        .join(' '),
    };
  }

  /** The processes that are connected now. */
  get processes(): Hello[] {
    return this.#connected.flatMap(({ hello }) => hello ?? []);
  }

  /**
   * Counts only requests to these ports from now on, in all processes; `null` counts all. Excludes dependencies that
   * the command starts as well.
   */
  setPorts(ports: number[] | null): void {
    this.#ports = ports;
    for (const probed of this.#connected) this.#sendPorts(probed);
  }

  /** Waits until a process has received a request that counts, up to a time limit. Returns whether one has. */
  async waitUntilServed(timeoutMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(timeoutMs);
    const hasServed = () => selectServing(this.#connected).length > 0;
    while (!hasServed() && !signal.aborted) {
      await once(this.events, 'hello', { signal }).catch(() => {});
    }
    return hasServed();
  }

  /**
   * Returns the view of the processes that served requests between two times of `performance.now()`, as far as there
   * are samples; `null` if there are none or too few.
   */
  between(fromMs: number, toMs: number): InsideView | null {
    const workers = findExpectedWorkers(this.#ports, this.#connected);
    return buildProbeView(selectServing([...this.#all]), fromMs, toMs, workers);
  }

  /**
   * Requests samples, and waits until every serving process has one that is later than a past time, up to a time limit.
   * Before and after a block of load this makes the block's bounds exact.
   */
  async requestSamples(atMs: number, timeoutMs: number): Promise<void> {
    const late = selectServing(this.#connected).filter(({ lastSampleMs }) => lastSampleMs < atMs);
    // A process that ends meanwhile sends nothing.
    const asked = late.map((probed) => probed.command('sample', {}).catch(() => null));
    const timeout = new AbortController();
    const { signal } = timeout;
    await Promise.race([
      Promise.all(asked),
      sleep(timeoutMs, undefined, { signal }).catch(() => {}),
    ]);
    timeout.abort();
  }

  /**
   * Sends a command to the processes that serve, and returns their answers. If no process serves and `setPorts` has
   * chosen no ports, sends it to all processes.
   *
   * @throws {Error} if a process cannot run it.
   */
  async command<Name extends CommandName>(
    name: Name,
    args: Commands[Name],
  ): Promise<Answers[Name][]> {
    return Promise.all(this.#targets.map((probed) => probed.command(name, args)));
  }

  /** Sends a command to the same processes, and returns the answers of those that can run it. */
  async commandEach<Name extends CommandName>(
    name: Name,
    args: Commands[Name],
  ): Promise<Answers[Name][]> {
    const asked = this.#targets.map((probed) => probed.command(name, args));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** The processes that receive a command. */
  get #targets(): ProbedProcess[] {
    const connected = this.#connected;
    const serving = selectServing(connected);
    // Processes that serve only other ports are left alone.
    return serving.length > 0 || this.#ports !== null ? serving : connected;
  }

  /** Forgets what was observed before a past time, so that an observation can last. */
  forgetBefore(atMs: number): void {
    for (const probed of this.#all) {
      if (!probed.isConnected && probed.lastSampleMs < atMs) this.#all.delete(probed);
      else probed.forgetBefore(atMs);
    }
  }

  /** Marks the connected processes as expected to end, except those with these ids. */
  disconnect(keptPids: number[] = []): void {
    for (const probed of this.#connected) {
      probed.isExpectedToEnd ||= !keptPids.includes(probed.hello?.pid ?? 0);
    }
  }

  /** Processes that served and ended unexpectedly with a full heap. */
  get heapExhaustions(): HeapExhaustion[] {
    const lost = selectServing([...this.#all]).filter(
      (it) => !it.isConnected && !it.isExpectedToEnd,
    );
    return lost.flatMap(findHeapExhaustion);
  }

  /** Disconnects the probes, which undoes all their changes, and removes the socket. */
  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }
}

function selectServing(some: ProbedProcess[]): ProbedProcess[] {
  return some.filter(({ hello }) => hello?.serving);
}

/**
 * Finds the cluster workers that are expected to receive requests for these ports: those that listen according to their
 * primary process. If it knows of none, all workers: the primary may pass connections on itself, or have no probe.
 */
function findExpectedWorkers(ports: number[] | null, known: readonly ProbedProcess[]): number[] {
  const isWanted = (port: number) => ports === null || ports.includes(port);
  const isMeant = ({ ownPid, hello }: ProbedProcess) => {
    const first = known.find((one) => one.ownPid === hello?.ppid)?.hello;
    const those = first?.listeningWorkers.filter(({ port }) => isWanted(port)) ?? [];
    return those.length === 0 || those.some(({ pid }) => pid === ownPid);
  };
  const workers = known.filter(({ hello }) => hello?.clusterRole === 'worker');
  return workers.filter(isMeant).flatMap(({ hello }) => hello?.pid ?? []);
}

/**
 * Runs a function while the probe is paused and costs the server nothing.
 *
 * @param onFailure receives the reason if the probe cannot be resumed
 */
export async function withProbePaused<Result>(
  hub: Pick<ProbeHub, 'command'> | null,
  work: () => Promise<Result>,
  onFailure: (why: string) => void,
): Promise<Result> {
  // A process that cannot be reached may have ended; the others are paused.
  await hub?.command('subscribe', { on: false }).catch(() => {});
  try {
    return await work();
  } finally {
    const resumed = hub?.command('subscribe', { on: true });
    await resumed?.catch(({ message }) => onFailure(`the probe could not be resumed: ${message}`));
  }
}

/** Quotes an argument for NODE_OPTIONS. */
function quoteOption(argument: string): string {
  return /[\s"\\]/.test(argument) ? `"${argument.replace(/["\\]/g, '\\$&')}"` : argument;
}
