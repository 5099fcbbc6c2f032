import type { Socket } from 'node:net';
import type {
  AnswerMessage,
  Answers,
  CommandName,
  Commands,
  Hello,
  ProbeMessage,
  Sample,
} from '../../../probe/protocol.cjs';

/** Samples that are kept: five minutes of them. */
const MOST_SAMPLES = 3000;

interface Listeners {
  onHello(hello: Hello): void;
  onSample(hello: Hello): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A sample on the clock of `performance.now()`, with everything that did not change filled in. */
export interface FullSample extends Omit<Sample, 'type'> {
  /** The longest synchronous part of each route since the sample before. */
  longestSyncMs: Record<string, number>;
}

const COMMAND_PATIENCE_MS = 8000;

/** One process with a probe, from its channel's side here. */
export class ProbedProcess {
  hello: Hello | null = null;
  /** Whether it is to end, and nothing is told by that. */
  isDismissed = false;
  /** In their order. */
  readonly samples: FullSample[] = [];
  readonly #socket: Socket;
  readonly #listeners: Listeners;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(socket: Socket, listeners: Listeners) {
    this.#socket = socket;
    this.#listeners = listeners;
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process has gone'));
      this.#waiting.clear();
    });
  }

  get isConnected(): boolean {
    return !this.#socket.destroyed;
  }

  /** When the last sample was taken; `-Infinity` before the first. */
  get lastSampleMs(): number {
    return this.samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  }

  command<Name extends CommandName>(name: Name, given: Commands[Name]): Promise<Answers[Name]> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      // A loop that is blocked for good answers never.
      const patienceMs = COMMAND_PATIENCE_MS + ('ms' in given ? Number(given.ms) : 0);
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`no answer within ${patienceMs / 1000} s`));
      }, patienceMs).unref();
      this.#waiting.set(id, {
        resolve(value: unknown) {
          clearTimeout(timer);
          resolve(value as Answers[Name]);
        },
        reject(reason) {
          clearTimeout(timer);
          reject(reason);
        },
      });
      this.#socket.write(`${JSON.stringify({ id, command: name, arguments: given })}\n`);
    });
  }

  #take(line: string): void {
    const message = parse(line);
    if (message?.type === 'hello') {
      this.hello = message;
      this.#listeners.onHello(message);
    } else if (message?.type === 'sample' && this.hello) {
      this.#add(message);
      this.#listeners.onSample(this.hello);
    } else if (message?.type === 'answer') {
      this.#answer(message);
    }
  }

  #add({ at, counters, longest, levels, ...changed }: Sample): void {
    const last = this.samples.at(-1);
    this.samples.push({
      at: at - monotonicOrigin,
      counters,
      longest,
      levels,
      routes: { ...last?.routes, ...changed.routes },
      outbound: { ...last?.outbound, ...changed.outbound },
      stalls: { ...last?.stalls, ...changed.stalls },
      longestSyncMs: Object.fromEntries(
        Object.entries(changed.routes).map(([name, { longestSyncMs }]) => [name, longestSyncMs]),
      ),
    });
    if (this.samples.length > MOST_SAMPLES) this.samples.shift();
  }

  #answer(message: AnswerMessage): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('error' in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.value);
  }
}

/** Whoever may connect may write anything: what is no message is nothing. */
function parse(line: string): ProbeMessage | null {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === 'object' ? (message as ProbeMessage | null) : null;
  } catch {
    return null;
  }
}

const [seconds, nanoseconds] = process.hrtime();
/** 0 of `performance.now()` on the clock of `process.hrtime`. */
const monotonicOrigin = seconds * 1000 + nanoseconds / 1e6 - performance.now();
