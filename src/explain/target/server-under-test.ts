import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../../errors/millrace-error.js';
import { DEFAULTS } from '../../load/defaults.js';
import { runLoad } from '../../load/engine/run.js';
import type { ServerCommand } from '../../load/input/command.js';
import type { LoadOptions } from '../../load/options.js';
import type { PortRemap } from '../../probe/process/port-remap.cjs';
import { type ServerProcess, startCommand } from '../../process/command/start-command.js';
import { findFreePort } from '../../process/listening/free-port.js';
import { findListeningSockets } from '../../process/listening/port-owners.js';
import type { TrialRequest } from '../../process/listening/trial-request.js';
import type { Endpoint } from '../../process/listening/types.js';
import type { ProbeHub } from '../observe/probe/hub.js';
import { observeProcess, type ProcessObserver } from '../observe/process-observer.js';
import { type SocketWatch, watchSockets } from '../observe/socket-sampler.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from './block-length.js';
import type { Change, ProbeCommand } from './change.js';
import { removeAsideFiles } from './files-aside.js';
import { applyChange, limitThreads, toClosedLoad, withOrigin } from './load-variants.js';
import { checkBegun, checkEffect, ProbeFailure } from './probe-effect.js';
import { findProbeObstacle, type ProbeObstacle } from './probe-obstacle.js';

/** How long to wait for samples; a busy loop takes them late. */
const SAMPLE_TIMEOUT_MS = 500;
/** How long to wait for the report of a request that has been answered. */
const SERVED_TIMEOUT_MS = 500;
/** How long to wait for the expected port after the second process has opened its first one. */
const SECOND_PORT_TIMEOUT_MS = 2000;
const POLL_MS = 50;

/** The server under test: how it is started, loaded and observed. */
export class ServerUnderTest {
  readonly hub: ProbeHub | null;
  /** What denies the command reading the probe, so that it runs without; `null` if nothing does. */
  probeObstacle: ProbeObstacle | null = null;
  /** Time that the last start took. */
  startMs = 0;
  /** Responses in all blocks since the last start. */
  responseCount = 0;
  readonly #configuredLoad: LoadOptions;
  readonly #port: number | null;
  /** Request by which the command's ports are probed, if no URL names a port. */
  readonly #trialRequest: TrialRequest | null;
  /** The ports in the load's URLs; `null` includes every port of the server. */
  #ports: number[] | null;
  #options: LoadOptions;
  #command: ServerCommand | null;
  #server: ServerProcess | null = null;
  #second: ServerProcess | null = null;
  /** Ids of the processes before the second one was started. */
  #firstPids: number[] = [];
  #secondEndpoint: Endpoint | null = null;
  /** Where the command listens; a new server may use another port. */
  #origin: string | null = null;
  /** Number of connections, if the load was converted to a closed one. */
  #connections: number | null = null;
  #pid: number | null = null;
  #endpoint: Endpoint | null = null;
  #processObserver: ProcessObserver | null = null;
  #socketWatch: SocketWatch | null = null;
  readonly #signal: AbortSignal;

  /**
   * @param options the load without the command; `start` starts the command's server
   * @param ports the ports in the load's URLs; the command's server is expected on the first
   * @param trial the request by which the command's ports are probed, if there are none
   */
  constructor(
    options: LoadOptions,
    command: ServerCommand | null,
    hub: ProbeHub | null,
    signal: AbortSignal,
    ports: number[] = [],
    trial: TrialRequest | null = null,
  ) {
    this.#trialRequest = trial;
    this.#ports = ports;
    this.#port = command ? (ports[0] ?? null) : null;
    this.#configuredLoad = options;
    this.#options = options;
    this.#command = command;
    this.hub = hub;
    this.#signal = signal;
  }

  /** The other ports on which the command listens. */
  async otherPorts(): Promise<number[]> {
    return (await this.#server?.otherPorts()) ?? [];
  }

  get pid(): number | null {
    return this.#pid;
  }

  /** Target of the load; `null` for a Unix socket. */
  get endpoint(): Endpoint | null {
    return this.#endpoint;
  }

  get options(): LoadOptions {
    return this.#options;
  }

  /** Ends all operations in progress. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  get canRestart(): boolean {
    return this.#command !== null;
  }

  /** How the command ended; `null` while it runs. */
  endReason: string | null = null;

  /** Starts the command with additional environment variables, and aims the load at its port. */
  async start(environment: Record<string, string> = {}): Promise<void> {
    if (!this.#command) return;
    this.endReason = null;
    const startedMs = performance.now();
    const server = await this.#startServer(this.#command, environment);
    this.startMs = performance.now() - startedMs;
    this.#server = server;
    server.exited.then((how) => {
      if (this.#server === server) this.endReason = how;
    });
    if (this.#port === null) this.#origin = server.origin;
    this.#updateOptions();
    this.observe(server.pid, { host: server.host, port: server.port });
  }

  async #startServer(
    { command, ...settings }: ServerCommand,
    environment: Record<string, string>,
  ): Promise<ServerProcess> {
    const portOptions =
      this.#port === null
        ? this.#trialRequest && { trial: this.#trialRequest }
        : { port: this.#port };
    try {
      return await startCommand(command, {
        ...settings,
        timeoutMs: DEFAULTS.commandTimeoutMs,
        ...portOptions,
        signal: this.#signal,
        adjustEnv: (own) => this.#buildEnvironment(own, environment),
      });
    } catch (error) {
      const obstacle = findProbeObstacle((error as Error).message);
      if (!this.hub || this.probeObstacle !== null || obstacle === null) throw error;
      this.probeObstacle = obstacle;
      return this.#startServer({ command, ...settings }, environment);
    }
  }

  #buildEnvironment(own: NodeJS.ProcessEnv, added: Record<string, string>): NodeJS.ProcessEnv {
    const { NODE_OPTIONS: options, ...others } = added;
    const joined = [own.NODE_OPTIONS, options].filter(Boolean).join(' ');
    const base = { ...own, ...others, ...(joined && { NODE_OPTIONS: joined }) };
    return this.probeObstacle !== null || !this.hub ? base : this.hub.environment(base);
  }

  /** Observes a process from now on. */
  observe(pid: number | null, endpoint: Endpoint | null): void {
    this.#endpoint = endpoint;
    this.#processObserver?.stop();
    this.#socketWatch?.stop();
    this.#pid = pid;
    const socketWatch = watchSockets({ pid, endpoint: this.#endpoint });
    this.#socketWatch = socketWatch;
    this.#processObserver =
      pid === null ? null : observeProcess(pid, { listPeers: () => socketWatch.listPeers() });
    this.responseCount = 0;
    this.#updatePortFilter();
  }

  /** Excludes dependencies that listen on other ports, even in the same process. */
  #updatePortFilter(): void {
    if (!this.#endpoint || !this.#ports) return;
    const secondPort = this.#secondEndpoint ? [this.#secondEndpoint.port] : [];
    this.hub?.setPorts([this.#endpoint.port, ...secondPort, ...this.#ports]);
  }

  /**
   * Called after a response: if no process received that request on the server's own port, a proxy is in front of the
   * serving processes, and all ports count.
   */
  async checkServingProcess(): Promise<void> {
    if (!this.hub || this.hub.processes.length === 0) return;
    if (await this.hub.waitUntilServed(SERVED_TIMEOUT_MS)) return;
    // A process that owns the port answers without node:http; what calls its dependencies is not the server.
    const port = this.#endpoint?.port;
    const hasPort = ({ pid }: { pid: number }) =>
      findListeningSockets(pid).some((own) => own.port === port && own.depth === 0);
    if (this.hub.processes.some(hasPort)) return;
    this.#ports = null;
    this.hub.setPorts(null);
  }

  /** Ends the server and starts it again. */
  async restart(environment: Record<string, string> = {}): Promise<void> {
    await this.#stopServer();
    await this.start(environment);
  }

  /** Starts the command a second time; blocks with `withSecondProcess` go to both servers. */
  async startSecondProcess(): Promise<void> {
    // Only a process with the same main module can be moved to another port.
    const script = this.hub?.processes.find(({ serving }) => serving)?.argv[1];
    if (!this.#command || !this.#endpoint) return;
    if (script === undefined) {
      throw new MillraceError('ERR_MILLRACE_COMMAND', 'its main module is unknown');
    }
    this.#firstPids = this.hub?.processes.map(({ pid }) => pid) ?? [];
    const port = await findFreePort().catch(() => {
      throw new MillraceError('ERR_MILLRACE_COMMAND', 'there is no free port for it');
    });
    const remap: PortRemap = { script, from: this.#endpoint.port, to: port };
    const { command, ...settings } = this.#command;
    const second = await startCommand(command, {
      ...settings,
      timeoutMs: DEFAULTS.commandTimeoutMs,
      signal: this.#signal,
      adjustEnv: (own) =>
        this.#buildEnvironment(own, { MILLRACE_PROBE_MOVED: JSON.stringify(remap) }),
    });
    this.#second = second;
    this.#secondEndpoint = { host: second.host, port: await this.#waitForSecondPort(second, port) };
    this.#updatePortFilter();
  }

  /**
   * Waits for the port to which the second process was moved, which may not open first. If the process did not ask for
   * the original port, returns the port it has.
   */
  async #waitForSecondPort(second: ServerProcess, moved: number): Promise<number> {
    const until = performance.now() + SECOND_PORT_TIMEOUT_MS;
    while (second.port !== moved && performance.now() < until) {
      if ((await second.otherPorts()).includes(moved)) return moved;
      await this.waitIdle(POLL_MS);
    }
    return second.port;
  }

  async stopSecondProcess(): Promise<void> {
    const second = this.#second;
    this.#second = null;
    this.#secondEndpoint = null;
    this.hub?.disconnect(this.#firstPids);
    await second?.stop();
  }

  /** Observes the server for some time without load. */
  async waitIdle(durationMs: number): Promise<{ fromMs: number; toMs: number }> {
    const fromMs = performance.now();
    await sleep(durationMs, undefined, { signal: this.#signal }).catch(() => {});
    this.#signal.throwIfAborted();
    return { fromMs, toMs: performance.now() };
  }

  /** Runs a block of load with a change applied, and returns the observation. */
  async runBlock(length: BlockLength, change: Change = {}): Promise<Observation> {
    this.#signal.throwIfAborted();
    if (!change.probe) return this.#runLoad(length, change);
    const { on, off } = change.probe;
    try {
      checkBegun(on, await this.#sendCommand(on));
      const observation = await this.#runLoad(length, change);
      checkEffect(off, await this.#sendCommand(off), observation);
      return observation;
    } catch (error) {
      // A process that has ended has nothing to undo.
      await this.#sendCommand(off).catch(() => {});
      throw error;
    }
  }

  async #runLoad({ settleMs, measureMs }: BlockLength, change: Change): Promise<Observation> {
    const wanted = applyChange(this.#options, change);
    const load = {
      ...wanted,
      ...limitThreads(wanted),
      warmup: settleMs,
      duration: measureMs,
      pid: false as const,
      signal: this.#signal,
    };
    const { result, fromMs, toMs, completed } = await runLoad(load, {
      earlyAckProbe: change.earlyAckProbe ?? false,
      ...(change.withSecondProcess &&
        this.#secondEndpoint && { secondEndpoint: this.#secondEndpoint }),
    });
    this.#signal.throwIfAborted();
    this.responseCount += completed + result.warmup.requests;
    await this.hub?.requestSamples(toMs, SAMPLE_TIMEOUT_MS);
    return {
      load: result,
      throughput: (completed * 1000) / Math.max(1, toMs - fromMs),
      outside: this.#processObserver?.between(fromMs, toMs) ?? null,
      inside: this.hub?.between(fromMs, toMs) ?? null,
      sockets: this.#socketWatch?.between(fromMs, toMs) ?? null,
    };
  }

  async #sendCommand({ name, options }: ProbeCommand): Promise<unknown[]> {
    try {
      return (await this.hub?.command(name, options)) ?? [];
    } catch (error) {
      throw new ProbeFailure((error as Error).message);
    }
  }

  /**
   * Converts the load to a closed one from now on: a number of connections, each sending the next request after the
   * response.
   */
  useClosedLoad(connections: number): void {
    this.#connections = connections;
    this.#updateOptions();
  }

  #updateOptions(): void {
    const load =
      this.#connections === null
        ? this.#configuredLoad
        : toClosedLoad(this.#configuredLoad, this.#connections);
    this.#options = this.#origin === null ? load : withOrigin(load, this.#origin);
  }

  observedBetween(fromMs: number, toMs: number): Observation['outside'] {
    return this.#processObserver?.between(fromMs, toMs) ?? null;
  }

  async #stopServer(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#processObserver?.stop();
    this.#socketWatch?.stop();
    this.hub?.disconnect();
    await server?.stop();
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    await Promise.all([this.#stopServer(), this.stopSecondProcess()]);
    removeAsideFiles();
  }
}
