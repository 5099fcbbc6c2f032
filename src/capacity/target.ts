import { MillraceError } from '../errors/millrace-error.js';
import { DEFAULTS } from '../load/defaults.js';
import { load } from '../load/load.js';
import type { LoadOptions } from '../load/options.js';
import { buildPlan, buildTrialRequest, FUTURE_SERVER } from '../load/plan/plan.js';
import { listUrls } from '../load/requests/url.js';
import type { LoadResult } from '../load/result.js';
import type { ServerProcess } from '../process/command/start-command.js';
import { CAPACITY_DEFAULTS } from './defaults.js';

/** A block of load: its connections or rate, and its length. */
export interface LoadBlock {
  connections?: number;
  /** Arrivals per second; with a rate the block uses the open model. */
  rate?: number;
  warmupMs: number;
  durationMs: number;
}

const DRAIN_REQUESTS = 2;

/** The server that receives the blocks of load. A command is started once for all blocks. */
export class CapacityTarget {
  readonly #options: LoadOptions;
  readonly #arrivals: Pick<LoadOptions, 'arrivals' | 'maxPending'>;
  readonly #abort = new AbortController();
  #endpoint: Pick<LoadOptions, 'url' | 'pid'> = {};
  #server: ServerProcess | null = null;
  #hasMeasured = false;
  /** The words of the command, secrets replaced; `null` without one. */
  command: string[] | null = null;
  /** How the server of the command ended; `null` while it runs. */
  ended: string | null = null;

  /** Whether the caller has ended the run. */
  get isInterrupted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  constructor({ arrivals, maxPending, ...options }: LoadOptions) {
    this.#options = options;
    this.#arrivals = {
      arrivals: arrivals ?? CAPACITY_DEFAULTS.arrivals,
      ...(maxPending !== undefined && { maxPending }),
    };
  }

  /** Checks the options, and starts the command if there is one. */
  async start(): Promise<void> {
    const { command, env, cwd, signal } = this.#options;
    signal?.throwIfAborted();
    signal?.addEventListener('abort', () => this.#abort.abort(signal.reason), { once: true });
    if (!command) {
      await buildPlan(this.#options);
      return;
    }
    const draft = await buildPlan(this.#options, FUTURE_SERVER);
    this.command = draft.summary.command;
    const [origin] = draft.native.origins;
    const { startCommand } = await import('../process/command/start-command.js');
    const server = await startCommand(command, {
      timeoutMs: DEFAULTS.commandTimeoutMs,
      ...(draft.toCommand ? { trial: buildTrialRequest(draft) } : origin && { port: origin.port }),
      ...{ env, cwd },
      ...(signal && { signal }),
    });
    this.#server = server;
    server.exited.then((how) => {
      this.ended = how;
      this.#abort.abort(new MillraceError('ERR_MILLRACE_COMMAND', `the server ${how}`));
    });
    this.#endpoint = {
      pid: this.#options.pid ?? server.pid,
      ...(draft.toCommand && { url: this.#buildUrls(server) }),
    };
  }

  // With targets, the URL is the origin of the targets that begin with `/`.
  #buildUrls({ origin }: ServerProcess): string[] {
    const { url, targets, targetsFile, scenario } = this.#options;
    if (targets || targetsFile !== undefined || scenario !== undefined) return [origin];
    return listUrls(url ?? '/').map((url) => (url.startsWith('/') ? `${origin}${url}` : url));
  }

  /** Whether no further block can run. */
  get isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Runs the first block. Throws if it is cut short, as there is nothing to report without it. */
  async warmUp(connections: number, durationMs: number): Promise<LoadResult> {
    const result = await this.run({ connections, warmupMs: 0, durationMs });
    if (result === null) throw this.#abort.signal.reason;
    return result;
  }

  /** Runs one block of load; `null` if the caller or the end of the server cut it short. */
  async run({ connections, rate, warmupMs, durationMs }: LoadBlock): Promise<LoadResult | null> {
    const { threads = 1 } = this.#options;
    const fewer = connections !== undefined && Number(threads) > connections;
    return this.#load({
      threads: fewer ? connections : threads,
      ...(connections !== undefined && { connections }),
      ...(rate !== undefined && { rate, ...this.#arrivals }),
      warmup: warmupMs,
      duration: durationMs,
    });
  }

  /** Waits until the server answers again after an overload: sends a few requests one after the other. */
  async drain(): Promise<void> {
    await this.#load({ threads: 1, connections: 1, requests: DRAIN_REQUESTS });
  }

  async #load(block: LoadOptions): Promise<LoadResult | null> {
    const { command: _, env: _env, cwd: _cwd, ...options } = this.#options;
    try {
      const result = await load({
        ...options,
        ...this.#endpoint,
        ...block,
        signal: this.#abort.signal,
      });
      this.#hasMeasured = true;
      return result.interrupted ? null : result;
    } catch (error) {
      // Without a measurement there is nothing to report.
      if (!this.#hasMeasured) throw error;
      if (!this.isOver) {
        if (!isUnreachable(error)) throw error;
        this.ended = `can no longer be reached: ${error.message}`;
        this.#abort.abort(error);
      }
      return null;
    }
  }

  /** Stops the server that was started. */
  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}

function isUnreachable(error: unknown): error is MillraceError {
  return error instanceof MillraceError && error.code === 'ERR_MILLRACE_UNREACHABLE';
}
