import { EventEmitter, once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Answers, CommandName, Commands, Hello } from '../../../probe/protocol.cjs';
import { withTemporaryFolder } from '../../../process/temporary-folder.js';
import type { InsideView } from '../types.js';
import { findHeapExhaustion, type HeapExhaustion } from './heap-exhaustion.js';
import { ProbedProcess } from './process.js';
import { buildProbeView } from './view.js';

/** What runs inside the server, by `--require`. */
export const PRELOAD = fileURLToPath(new URL('../../../probe/preload.cjs', import.meta.url));

interface ProbeEvents {
  /** A process has said who it is; again when some of it has changed. */
  hello: [Hello];
  /** A process has gone, or has closed its channel. */
  left: [Hello];
  /** A sample has arrived. */
  sample: [Hello];
}

/**
 * Opens the place where probes connect: a socket that only this user can reach.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` if there is no folder for it.
 */
export async function openProbeHub(): Promise<ProbeHub> {
  if (process.platform === 'win32') {
    return startHub(`\\\\.\\pipe\\millrace-probe-${process.pid}`, null);
  }
  return withTemporaryFolder('millrace', async (folder) => {
    const path = join(folder, 'probe');
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new Error('its path is too long');
    return startHub(path, folder);
  });
}

/** Bytes that the path of a socket may have everywhere: unix(7) has 107, macOS 103. */
const MAX_PATH_BYTES = 103;

async function startHub(path: string, folder: string | null): Promise<ProbeHub> {
  const hub = new ProbeHub(path, folder);
  await hub.listen();
  return hub;
}

/** Where the probes of a server's processes meet. */
export class ProbeHub {
  /** Path of the socket that probes connect to. */
  readonly path: string;
  readonly events = new EventEmitter<ProbeEvents>();
  readonly #folder: string | null;
  readonly #server: Server;
  /** Those that left stay: they are part of the time in which they served. */
  readonly #all = new Set<ProbedProcess>();
  readonly #open = new Set<Socket>();
  #ports: number[] | null = null;

  /** @param folder that of the path, if it was made for that */
  constructor(path: string, folder: string | null) {
    this.path = path;
    this.#folder = folder;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, 'listening');
  }

  #accept(socket: Socket): void {
    this.#open.add(socket);
    const probed = new ProbedProcess(socket, {
      onHello: (hello) => {
        if (!this.#all.has(probed) && this.#ports !== null) this.#sendPorts(probed);
        this.#all.add(probed);
        this.events.emit('hello', hello);
      },
      onSample: (hello) => this.events.emit('sample', hello),
    });
    socket.on('close', () => {
      this.#open.delete(socket);
      if (probed.hello) this.events.emit('left', probed.hello);
    });
  }

  #sendPorts(probed: ProbedProcess): void {
    // One that goes meanwhile serves nothing any more.
    probed.command('setPorts', { ports: this.#ports }).catch(() => {});
  }

  get #connected(): ProbedProcess[] {
    return [...this.#all].filter(({ isConnected }) => isConnected);
  }

  /** The environment with which a process, and all that it starts, has the probe. */
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

  /** The processes now connected. */
  get processes(): Hello[] {
    return this.#connected.flatMap(({ hello }) => hello ?? []);
  }

  /**
   * From now on only requests to these ports count, in all processes: a dependency that the command starts as well is
   * none of the server. `null`: all do.
   */
  setPorts(ports: number[] | null): void {
    this.#ports = ports;
    for (const probed of this.#connected) this.#sendPorts(probed);
  }

  /** Waits until a process has got a request that counts; at most so long. Returns whether one has. */
  async waitUntilServed(timeoutMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(timeoutMs);
    const hasServed = () => selectServing(this.#connected).length > 0;
    while (!hasServed() && !signal.aborted) {
      await once(this.events, 'hello', { signal }).catch(() => {});
    }
    return hasServed();
  }

  /**
   * The processes that served requests, between two times of `performance.now()`; as far as there are samples. `null`:
   * there is none, or too little of it.
   */
  between(fromMs: number, toMs: number): InsideView | null {
    const workers = findExpectedWorkers(this.#ports, this.processes);
    return buildProbeView(selectServing([...this.#all]), fromMs, toMs, workers);
  }

  /**
   * Asks for samples, and waits until every process that serves has one of after the time, which has passed; at most so long. Before and
   * after a block of load it makes the block's ends exact.
   */
  async requestSamples(atMs: number, timeoutMs: number): Promise<void> {
    const late = selectServing(this.#connected).filter(({ lastSampleMs }) => lastSampleMs < atMs);
    // For one that goes meanwhile there is nothing to wait for.
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
   * Tells the processes that serve (all, if none does and none was chosen by `study`) to do something, and waits for what they answer.
   *
   * @throws {Error} if one cannot.
   */
  async command<Name extends CommandName>(
    name: Name,
    args: Commands[Name],
  ): Promise<Answers[Name][]> {
    const connected = this.#connected;
    const servingOnes = selectServing(connected);
    // What serves only others is not changed.
    const targets = servingOnes.length > 0 || this.#ports !== null ? servingOnes : connected;
    return Promise.all(targets.map((probed) => probed.command(name, args)));
  }

  /** The processes that are connected are to end, but for those with these numbers. */
  disconnect(keptPids: number[] = []): void {
    for (const probed of this.#connected) {
      probed.isExpectedToEnd ||= !keptPids.includes(probed.hello?.pid ?? 0);
    }
  }

  /** Those that have served and have ended all the same, as far as their heap was full when it was last looked at. */
  get heapExhaustions(): HeapExhaustion[] {
    const lost = selectServing([...this.#all]).filter(
      (it) => !it.isConnected && !it.isExpectedToEnd,
    );
    return lost.flatMap(findHeapExhaustion);
  }

  /** Lets the probes go, which undoes all that they do, and removes the socket. */
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
 * The workers of clusters that are to get requests for these ports: those of which their first process knows that they
 * listen. Where it knows of none, all: it may hand them its connections, or have no probe.
 */
function findExpectedWorkers(ports: number[] | null, known: Hello[]): number[] {
  const isWanted = (port: number) => ports === null || ports.includes(port);
  const isMeant = ({ pid, ppid }: Hello) => {
    const first = known.find((one) => one.pid === ppid);
    const those = first?.listeningWorkers.filter(({ port }) => isWanted(port)) ?? [];
    return those.length === 0 || those.some((one) => one.pid === pid);
  };
  const workers = known.filter(({ clusterRole }) => clusterRole === 'worker');
  return workers.filter(isMeant).map(({ pid }) => pid);
}

/**
 * Does something while the probe rests, and costs the server nothing.
 *
 * @param onFailure hears why the probe does not watch any more afterwards
 */
export async function withProbePaused<Result>(
  hub: Pick<ProbeHub, 'command'> | null,
  work: () => Promise<Result>,
  onFailure: (why: string) => void,
): Promise<Result> {
  // One that cannot be told may have gone; others have been told.
  await hub?.command('subscribe', { on: false }).catch(() => {});
  try {
    return await work();
  } finally {
    const resumed = hub?.command('subscribe', { on: true });
    await resumed?.catch(({ message }) => onFailure(`the probe, after it rested: ${message}`));
  }
}

/** As an argument in NODE_OPTIONS. */
function quoteOption(argument: string): string {
  return /[\s"\\]/.test(argument) ? `"${argument.replace(/["\\]/g, '\\$&')}"` : argument;
}
