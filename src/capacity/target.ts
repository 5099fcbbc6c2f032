import { MillraceError } from '../errors.js';
import { DEFAULTS } from '../load/defaults.js';
import { load } from '../load/load.js';
import type { LoadOptions } from '../load/options.js';
import { buildPlan, trialOf } from '../load/plan/plan.js';
import type { LoadResult } from '../load/result.js';
import type { ServerProcess } from '../process/command/start-command.js';

/** How much load, and for how long. */
export interface LoadBlock {
  connections?: number;
  /** Makes the block open. */
  rate?: number;
  warmupMs: number;
  durationMs: number;
}

const DRAIN_REQUESTS = 2;

/** The server that blocks of load go to. A command's is started once, for all of them. */
export class CapacityTarget {
  readonly #options: LoadOptions;
  readonly #arrivals: Pick<LoadOptions, 'arrivals' | 'maxPending'>;
  readonly #abort = new AbortController();
  #endpoint: Pick<LoadOptions, 'url' | 'pid'> = {};
  #server: ServerProcess | null = null;
  #hasMeasured = false;
  /** How the command's server ended, if it has. */
  ended: string | null = null;

  /** Whether the caller has had enough. */
  get isInterrupted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  constructor({ arrivals, maxPending, ...options }: LoadOptions) {
    this.#options = options;
    this.#arrivals = {
      arrivals: arrivals ?? 'poisson',
      ...(maxPending !== undefined && { maxPending }),
    };
  }

  /** Refuses what cannot be run, and starts the command if there is one. */
  async start(): Promise<void> {
    const { command, signal } = this.#options;
    signal?.throwIfAborted();
    signal?.addEventListener('abort', () => this.#abort.abort(signal.reason), { once: true });
    if (!command) {
      await buildPlan(this.#options);
      return;
    }
    const draft = await buildPlan(this.#options, 'http://localhost');
    const [origin] = draft.native.origins;
    const { startCommand } = await import('../process/command/start-command.js');
    const server = await startCommand(command, {
      timeoutMs: DEFAULTS.commandTimeoutMs,
      ...(draft.toCommand ? { trial: trialOf(draft) } : origin && { port: origin.port }),
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

  // Beside targets the URL is where those go that begin with `/`.
  #buildUrls({ origin }: ServerProcess): string[] {
    const { url, targets, targetsFile } = this.#options;
    if (targets || targetsFile !== undefined) return [origin];
    return [url ?? '/'].flat().map((url) => (url.startsWith('/') ? `${origin}${url}` : url));
  }

  /** Whether no further block is of use. */
  get isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  /** The first block, without which there is nothing to report. */
  async warmUp(connections: number, durationMs: number): Promise<LoadResult> {
    const result = await this.run({ connections, warmupMs: 0, durationMs });
    if (result === null) throw this.#abort.signal.reason;
    return result;
  }

  /** One block of load; `null` if the caller, or the server's end, cut it short. */
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

  /** Waits until the server answers again after an overload: some requests, one after the other. */
  async drain(): Promise<void> {
    await this.#load({ threads: 1, connections: 1, requests: DRAIN_REQUESTS });
  }

  async #load(block: LoadOptions): Promise<LoadResult | null> {
    const { command: _, ...options } = this.#options;
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
      // What has been measured so far is worth a report.
      if (!this.#hasMeasured) throw error;
      if (!this.isOver) {
        if (!isUnreachable(error)) throw error;
        this.ended = `can no longer be reached: ${error.message}`;
        this.#abort.abort(error);
      }
      return null;
    }
  }

  /** Ends the server that was started. */
  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}

function isUnreachable(error: unknown): error is MillraceError {
  return error instanceof MillraceError && error.code === 'ERR_MILLRACE_UNREACHABLE';
}
