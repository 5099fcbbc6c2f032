import type { Socket } from 'node:net';
import type {
  Answers,
  CommandName,
  Commands,
  Hello,
  ProbeMessage,
  ProbeSample,
} from '../../../probe/protocol.cjs';
import { PendingCalls, parseObject } from './pending-calls.js';

/** Maximum number of samples: five minutes. */
const MAX_SAMPLES = 3000;

interface Listeners {
  onHello(hello: Hello): void;
  onSample(hello: Hello): void;
}

/** A sample on the clock of `performance.now()`, with all unchanged values filled in. */
export interface FullSample extends Omit<ProbeSample, 'type'> {
  /** The longest synchronous part of each route since the previous sample. */
  longestSyncMs: Record<string, number>;
}

const COMMAND_TIMEOUT_MS = 8000;

/** This side of the channel to one process with a probe. */
export class ProbedProcess {
  hello: Hello | null = null;
  /** The id that the process has for itself and its own processes; 0 before it has introduced itself. */
  ownPid = 0;
  /** Whether the process is expected to end, so that its end is not a finding. */
  isExpectedToEnd = false;
  /** In chronological order. */
  readonly samples: FullSample[] = [];
  readonly #socket: Socket;
  readonly #pid: number | null;
  readonly #listeners: Listeners;
  readonly #pending = new PendingCalls();

  /** @param pid the process's id as this process sees it, if it is known: in a container it has another one */
  constructor(socket: Socket, listeners: Listeners, pid: number | null = null) {
    this.#socket = socket;
    this.#pid = pid;
    this.#listeners = listeners;
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#receive(line);
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#pending.rejectAll('the process has ended'));
  }

  get isConnected(): boolean {
    return !this.#socket.destroyed;
  }

  /** Time of the last sample; `-Infinity` before the first. */
  get lastSampleMs(): number {
    return this.samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  }

  /** Forgets the samples before a past time, except for the last one of them, from which counters are interpolated. */
  forgetBefore(atMs: number): void {
    const later = this.samples.findIndex(({ at }) => at >= atMs);
    const kept = later < 0 ? this.samples.length - 1 : later - 1;
    if (kept > 0) this.samples.splice(0, kept);
  }

  command<Name extends CommandName>(name: Name, args: Commands[Name]): Promise<Answers[Name]> {
    return new Promise((resolve, reject) => {
      // A loop that is blocked for good never answers.
      const timeoutMs = COMMAND_TIMEOUT_MS + ('ms' in args ? Number(args.ms) : 0);
      const timer = setTimeout(() => {
        this.#pending.remove(id);
        reject(new Error(`no answer within ${timeoutMs / 1000} s`));
      }, timeoutMs).unref();
      const id = this.#pending.add({
        resolve(value: unknown) {
          clearTimeout(timer);
          resolve(value as Answers[Name]);
        },
        reject(reason) {
          clearTimeout(timer);
          reject(reason);
        },
      });
      this.#socket.write(`${JSON.stringify({ id, command: name, arguments: args })}\n`);
    });
  }

  #receive(line: string): void {
    // Any program of this user may connect.
    const message = parseObject<ProbeMessage>(line);
    if (message?.type === 'hello') {
      this.ownPid = message.pid;
      this.hello = this.#pid === null ? message : { ...message, pid: this.#pid };
      this.#listeners.onHello(this.hello);
    } else if (message?.type === 'sample' && this.hello) {
      this.#add(message);
      this.#listeners.onSample(this.hello);
    } else if (message?.type === 'answer') {
      const error = 'error' in message ? message.error : undefined;
      this.#pending.settle(message.id, error, 'value' in message ? message.value : undefined);
    }
  }

  #add({ at, counters, longest, memory, ...changed }: ProbeSample): void {
    const last = this.samples.at(-1);
    this.samples.push({
      at: at - monotonicOrigin,
      counters,
      longest,
      memory,
      routes: { ...last?.routes, ...changed.routes },
      outbound: { ...last?.outbound, ...changed.outbound },
      stalls: { ...last?.stalls, ...changed.stalls },
      longestSyncMs: Object.fromEntries(
        Object.entries(changed.routes).map(([name, { longestSyncMs }]) => [name, longestSyncMs]),
      ),
    });
    if (this.samples.length > MAX_SAMPLES) this.samples.shift();
  }
}

const [seconds, nanoseconds] = process.hrtime();
/** The time 0 of `performance.now()` on the clock of `process.hrtime`. */
const monotonicOrigin = seconds * 1000 + nanoseconds / 1e6 - performance.now();
