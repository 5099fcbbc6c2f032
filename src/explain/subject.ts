import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULTS } from '../load/defaults.js';
import type { LoadOptions } from '../load/options.js';
import { runLoad } from '../load/run.js';
import { type ServerProcess, startCommand } from '../process/command.js';
import type { Endpoint } from '../process/endpoint.js';
import { censusOfSockets, type SocketWatch } from './census.js';
import type { Change, ProbeCommand } from './experiments.js';
import type { Observation } from './observation.js';
import { type OutsideWatch, watchOutside } from './outside.js';
import type { ProbeHub } from './probe.js';

/** How long a block of load lasts: first it settles, then it is measured. */
export interface BlockLength {
  settleMs: number;
  measureMs: number;
}

/** A process could not do what the probe was told: nothing was changed, or not in all of them. */
export class ProbeFailure extends Error {}

/** A busy loop samples late; what it has not sampled by then is not waited for. */
const SAMPLE_PATIENCE_MS = 500;

/** The server under study, and how it is loaded and looked at. */
export class Subject {
  readonly hub: ProbeHub | null;
  /** How long the server took to start, the last time. */
  startMs = 0;
  /** Responses that the server has sent in all blocks since it was started. */
  answered = 0;
  readonly #given: LoadOptions;
  readonly #port: number | null;
  #options: LoadOptions;
  #command: string[] | null;
  #server: ServerProcess | null = null;
  /** Where the command listens; a new server may do so elsewhere. */
  #origin: string | null = null;
  /** Of a load that was made closed. */
  #connections: number | null = null;
  #pid: number | null = null;
  #endpoint: Endpoint | null = null;
  #outside: OutsideWatch | null = null;
  #sockets: SocketWatch | null = null;
  readonly #signal: AbortSignal;

  /**
   * @param options the load, without the command, whose server is started by `start`
   * @param port where the command's server is to be waited for; without it wherever it listens
   */
  constructor(
    options: LoadOptions,
    command: string[] | null,
    hub: ProbeHub | null,
    signal: AbortSignal,
    port: number | null = null,
  ) {
    this.#port = port;
    this.#given = options;
    this.#options = options;
    this.#command = command;
    this.hub = hub;
    this.#signal = signal;
  }

  get pid(): number | null {
    return this.#pid;
  }

  /** Where the load goes; `null` for a Unix socket. */
  get endpoint(): Endpoint | null {
    return this.#endpoint;
  }

  get options(): LoadOptions {
    return this.#options;
  }

  get canRestart(): boolean {
    return this.#command !== null;
  }

  /** How the command ended, if it has. */
  ended: string | null = null;

  /** Starts the command, with more in its environment; the load goes to where it listens. */
  async start(environment: Record<string, string> = {}): Promise<void> {
    if (!this.#command) return;
    const begun = performance.now();
    const port = this.#port;
    const server = await startCommand(this.#command, {
      timeoutMs: DEFAULTS.commandTimeoutMs,
      ...(port !== null && { port }),
      signal: this.#signal,
      env: this.#environment(environment),
    });
    this.startMs = performance.now() - begun;
    this.#server = server;
    server.exited.then((how) => {
      if (this.#server === server) this.ended = how;
    });
    const host = server.host.includes(':') ? `[${server.host}]` : server.host;
    this.#origin = `http://${host}:${server.port}`;
    this.#aim();
    this.watch(server.pid, { host: server.host, port: server.port });
  }

  #environment(added: Record<string, string>): NodeJS.ProcessEnv {
    const { NODE_OPTIONS: options, ...others } = added;
    const before = process.env.NODE_OPTIONS;
    const joined = [before, options].filter(Boolean).join(' ');
    const base = { ...process.env, ...others, ...(joined && { NODE_OPTIONS: joined }) };
    return this.hub?.environment(base) ?? base;
  }

  /** Looks at this process from now on. */
  watch(pid: number | null, endpoint: Endpoint | null): void {
    this.#endpoint = endpoint;
    this.#outside?.stop();
    this.#sockets?.stop();
    this.#pid = pid;
    this.#outside = pid === null ? null : watchOutside(pid);
    this.#sockets = censusOfSockets({ pid, endpoint: this.#endpoint });
    this.answered = 0;
  }

  /** Ends the server that was started, and starts it anew. */
  async restart(environment: Record<string, string> = {}): Promise<void> {
    await this.#stopServer();
    await this.start(environment);
  }

  /** Looks at the server for some time, without load. */
  async rest(durationMs: number): Promise<{ fromMs: number; toMs: number }> {
    const fromMs = performance.now();
    await sleep(durationMs, undefined, { signal: this.#signal }).catch(() => {});
    this.#signal.throwIfAborted();
    return { fromMs, toMs: performance.now() };
  }

  /** Runs a block of load with something changed, and gives what it showed. */
  async block({ settleMs, measureMs }: BlockLength, change: Change = {}): Promise<Observation> {
    this.#signal.throwIfAborted();
    try {
      if (change.probe) await this.#tell(change.probe.on);
      const wanted = { ...(change.alone ? alone(this.#options) : this.#options), ...change.load };
      const load = {
        ...wanted,
        ...withinConnections(wanted),
        warmup: settleMs,
        duration: measureMs,
        pid: false as const,
        signal: this.#signal,
      };
      const { result, fromMs, toMs, completed } = await runLoad(load, {
        nudge: change.nudge ?? false,
      });
      this.#signal.throwIfAborted();
      this.answered += completed + result.warmup.requests;
      await this.hub?.sampledAfter(toMs, SAMPLE_PATIENCE_MS);
      return {
        load: result,
        throughput: (completed * 1000) / Math.max(1, toMs - fromMs),
        outside: this.#outside?.between(fromMs, toMs) ?? null,
        inside: this.hub?.between(fromMs, toMs) ?? null,
        sockets: this.#sockets?.between(fromMs, toMs) ?? null,
      };
    } finally {
      // A process that is gone has nothing to undo.
      if (change.probe) await this.#tell(change.probe.off).catch(() => {});
    }
  }

  async #tell(command: ProbeCommand): Promise<void> {
    try {
      const answers = await this.hub?.command(command.name, command.given);
      if (command.name === 'maxSockets' && answers?.flat().length === 0) {
        throw new Error('no agent with a bound was seen');
      }
    } catch (error) {
      throw new ProbeFailure((error as Error).message);
    }
  }

  /** From now on the load is closed: so many connections, each answer followed by the next request. */
  saturate(connections: number): void {
    this.#connections = connections;
    this.#aim();
  }

  #aim(): void {
    const load = this.#connections === null ? this.#given : closed(this.#given, this.#connections);
    this.#options = this.#origin === null ? load : aimedAt(load, this.#origin);
  }

  outsideBetween(fromMs: number, toMs: number): Observation['outside'] {
    return this.#outside?.between(fromMs, toMs) ?? null;
  }

  async #stopServer(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#outside?.stop();
    this.#sockets?.stop();
    await server?.stop();
  }

  /** Ends all that was started. */
  async close(): Promise<void> {
    await this.#stopServer();
  }
}

/** The same requests, one at a time; to several hosts one each. */
function alone(options: LoadOptions): LoadOptions {
  const hosts = new Set(
    [options.url ?? []].flat().map((url) => url.split('/').slice(0, 3).join('/')),
  );
  return closed(options, Math.max(1, hosts.size));
}

/** No more threads than connections. */
function withinConnections({ connections, threads }: LoadOptions): Pick<LoadOptions, 'threads'> {
  if (connections === undefined || threads === undefined) return {};
  return Number(threads) > Number(connections) ? { threads: connections } : {};
}

/** The same requests by so many connections, each answer followed by the next request. */
export function closed(options: LoadOptions, connections: number): LoadOptions {
  const { rate, stages, arrivals, maxPending, ...others } = options;
  return { ...others, connections, threads: 1, pipelining: 1 };
}

/** The same load, sent to another origin: the URLs that begin with `/`, or all if there are none. */
function aimedAt(options: LoadOptions, origin: string): LoadOptions {
  const urls = [options.url ?? '/'].flat();
  return { ...options, url: urls.map((url) => (url.startsWith('/') ? `${origin}${url}` : url)) };
}
