import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSnapshot } from '../../load/result.js';
import { PING_MS, SILENT_HOST_MS } from '../defaults.js';
import { HostError, type HostFailure } from '../failure.js';
import type { Host } from '../host.js';
import { formatMessage, parseMessage, readLines } from '../json-lines.js';
import type { FromAgent, ToAgent } from '../messages.js';
import { describeEnd } from './ended.js';

/** How the agent of a host is started. */
export interface SessionCommand {
  words: readonly string[];
  /** What goes to its standard input before the first message. */
  preamble?: Buffer;
  remoteCommand: string;
  copy: boolean;
}

type Type = FromAgent['type'];
type Message<Of extends Type> = Extract<FromAgent, { type: Of }>;

/** Most lines that are kept of what a process prints. */
const MAX_LINES = 20;

/** How long a process may take to end when its input has ended. */
const END_MS = 4000;

/** A connection to the agent of a host, from its start to its end. Whatever ends it becomes the one failure of the host. */
export class Session {
  readonly host: Host;
  readonly #command: SessionCommand;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #lines: string[] = [];
  readonly #failed: Promise<null>;
  #markFailed: () => void = () => {};
  readonly #watch: NodeJS.Timeout;
  #messages: FromAgent[] = [];
  #wake: () => void = () => {};
  #pongs = new Map<number, (atMs: number) => void>();
  #pings = 0;
  #failure: HostFailure | null = null;
  #heardMs: number | null = null;
  /** Receives the running figures. */
  onSnapshot: (snapshot: LoadSnapshot) => void = () => {};

  constructor(host: Host, command: SessionCommand) {
    this.host = host;
    this.#command = command;
    this.#failed = new Promise((resolve) => {
      this.#markFailed = () => resolve(null);
    });
    const [program = '', ...args] = command.words;
    // A process group of its own: Ctrl-C at the terminal must not end the connection before the result is there.
    this.#child = spawn(program, args, { stdio: 'pipe', detached: true, windowsHide: true });
    const { stdin, stdout, stderr } = this.#child as ChildProcess & {
      stdin: Writable;
      stdout: Readable;
      stderr: Readable;
    };
    stdin.on('error', () => {});
    if (command.preamble) stdin.write(command.preamble);
    this.#exited = this.#awaitExit(stderr);
    void this.#receive(stdout);
    this.#watch = this.#startWatch();
    killAtExit(this.#child);
  }

  /** Whether the host runs a copy of this package. */
  get isCopied(): boolean {
    return this.#command.copy;
  }

  send(message: ToAgent): void {
    this.#child.stdin?.write(formatMessage(message));
  }

  /** Waits for a message. Rejects with a `HostError` when it cannot come any more, or after a time. */
  async expect<Of extends Type>(types: readonly Of[], timeoutMs?: number): Promise<Message<Of>> {
    const endMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const index = this.#messages.findIndex(({ type }) => types.includes(type as Of));
      const [message] = index < 0 ? [] : this.#messages.splice(index, 1);
      if (message) return message as Message<Of>;
      if (this.#failure) throw new HostError(this.#failure);
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) {
        const last = this.#lines.at(-1);
        const said = last === undefined ? '' : ` (${last})`;
        this.fail(`no answer within ${Math.round((timeoutMs ?? 0) / 1000)} s${said}`);
        continue;
      }
      await this.#change(leftMs);
    }
  }

  /** Asks for the time of the host's clock; resolves with it and when it was asked for and known on the monotonic clock. */
  async readClock(): Promise<{ atMs: number; sentMs: number; heardMs: number }> {
    const id = ++this.#pings;
    const sentMs = performance.now();
    const answered = new Promise<{ atMs: number; heardMs: number }>((resolve) => {
      this.#pongs.set(id, (atMs) => resolve({ atMs, heardMs: performance.now() }));
    });
    this.send({ type: 'ping', id });
    const answer = await Promise.race([answered, this.#failed]);
    if (answer === null) throw new HostError(this.#failure as HostFailure);
    return { ...answer, sentMs };
  }

  /** Makes this the failure of the host, unless it has one, and ends the connection. */
  fail(message: string, code: HostFailure['code'] = 'ERR_MILLRACE_UNREACHABLE'): void {
    this.#failure ??= { host: this.host.name, message, code };
    this.#markFailed();
    this.#wake();
    this.#child.stdin?.end();
  }

  /** Ends the connection, and the agent with it. */
  async end(): Promise<void> {
    clearInterval(this.#watch);
    this.#child.stdin?.end();
    if (!(await this.#exitsWithin(END_MS))) {
      this.#child.kill('SIGTERM');
      if (!(await this.#exitsWithin(END_MS))) this.#child.kill('SIGKILL');
      await this.#exited;
    }
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    running.delete(this.#child);
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    const stop = new AbortController();
    const late = sleep(ms, false, { signal: stop.signal }).catch(() => false);
    const exited = this.#exited.then(() => true);
    return Promise.race([exited, late]).finally(() => stop.abort());
  }

  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #receive(stdout: Readable): Promise<void> {
    for await (const line of readLines(stdout)) {
      const message = parseMessage<FromAgent>(line);
      if (message === null) {
        this.#keepLine(line);
        continue;
      }
      this.#heardMs = performance.now();
      this.#take(message);
    }
  }

  #take(message: FromAgent): void {
    switch (message.type) {
      case 'pong':
        this.#pongs.get(message.id)?.(message.atMs);
        this.#pongs.delete(message.id);
        return;
      case 'snapshot':
        this.onSnapshot(message.snapshot);
        return;
      case 'error':
        this.fail(message.message, message.code);
        return;
      default:
        this.#messages.push(message);
        this.#wake();
    }
  }

  async #awaitExit(stderr: Readable): Promise<void> {
    const read = (async () => {
      for await (const line of readLines(stderr)) this.#keepLine(line);
    })();
    const ended = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
      (resolve) => {
        this.#child.once('error', (error) => {
          this.#keepLine(describeSpawnError(error, this.#command.words[0] ?? ''));
          resolve({ code: SPAWN_FAILED, signal: null });
        });
        this.#child.once('exit', (code, signal) => resolve({ code, signal }));
      },
    );
    // A process of its own that a client of ssh leaves may keep the pipe open.
    await Promise.race([read, sleep(GRACE_MS)]);
    const { remoteCommand, copy } = this.#command;
    const remote = { remoteCommand, copy, hasAnswered: this.#heardMs !== null };
    const { message, code } = describeEnd({ ...ended, lines: this.#lines }, remote);
    this.fail(message, code);
  }

  #keepLine(line: string): void {
    const text = line.trim();
    if (text === '') return;
    this.#lines.push(text);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Fails when nothing is heard for long: the machine or its network is gone. */
  #startWatch(): NodeJS.Timeout {
    let lastMs = performance.now();
    return setInterval(() => {
      const nowMs = performance.now();
      const stoodStill = nowMs - lastMs > 2 * PING_MS;
      lastMs = nowMs;
      if (this.#heardMs === null) return;
      // This process was stopped, not the host.
      if (stoodStill) this.#heardMs = nowMs;
      if (nowMs - this.#heardMs > SILENT_HOST_MS) {
        this.fail(
          `nothing was heard for ${SILENT_HOST_MS / 1000} s: the machine or its network stands still, or is gone`,
        );
        this.#child.kill();
        return;
      }
      this.#pings += 1;
      this.send({ type: 'ping', id: this.#pings });
    }, PING_MS);
  }
}

/** The processes of connections, which end with this one, however that ends. */
const running = new Set<ChildProcess>();

function killAtExit(child: ChildProcess): void {
  if (running.size === 0) process.off('exit', killRunning).once('exit', killRunning);
  running.add(child);
}

function killRunning(): void {
  for (const child of running) child.kill();
}

/** As ssh ends where it cannot connect. */
const SPAWN_FAILED = 255;

/** Time for the last lines of a process that has ended. */
const GRACE_MS = 500;

function describeSpawnError(error: Error, program: string): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT'
    ? `'${program}' cannot be started: no such program; it is named by --ssh`
    : `'${program}' cannot be started: ${error.message}`;
}
