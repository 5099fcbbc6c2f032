import { type ChildProcess, spawn } from 'node:child_process';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSnapshot } from '../../load/result.js';
import { PING_MS, SILENT_HOST_MS, SILENT_STARTING_MS } from '../defaults.js';
import { HostError, type HostFailure } from '../failure.js';
import type { Host } from '../host.js';
import { formatMessage, parseMessage, readLines } from '../json-lines.js';
import { type FromAgent, isWhole, type ToAgent } from '../messages.js';
import { SilenceWatch } from '../silence-watch.js';
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

/** Bytes that are sent at once: that they could be sent shows that the host reads. */
const PIECE_BYTES = 64 * 1024;

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
  readonly #outgoing = new PassThrough();
  readonly #silence: SilenceWatch;
  #pinging: NodeJS.Timeout | undefined;
  #messages: FromAgent[] = [];
  #wake: () => void = () => {};
  #pongs = new Map<number, (atMs: number) => void>();
  #pings = 0;
  #failure: HostFailure | null = null;
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
    stdin.on('drain', () => this.#silence.hear());
    this.#outgoing.pipe(stdin);
    if (command.preamble) this.#write(command.preamble);
    this.#exited = this.#awaitExit(stderr);
    void this.#receive(stdout);
    this.#silence = new SilenceWatch(SILENT_STARTING_MS, () => this.#giveUp());
    killAtExit(this.#child);
  }

  /** Whether the host runs a copy of this package. */
  get isCopied(): boolean {
    return this.#command.copy;
  }

  send(message: ToAgent): void {
    this.#write(Buffer.from(formatMessage(message)));
  }

  #write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#outgoing.write(bytes.subarray(at, at + PIECE_BYTES));
    }
  }

  /** Sets how long nothing may be heard of the host. */
  allowSilence(ms: number): void {
    this.#silence.limitMs = ms;
  }

  /** Waits for a message. Rejects with a `HostError` when it cannot come any more. */
  async expect<Of extends Type>(types: readonly Of[]): Promise<Message<Of>> {
    for (;;) {
      const index = this.#messages.findIndex(({ type }) => types.includes(type as Of));
      const [message] = index < 0 ? [] : this.#messages.splice(index, 1);
      if (message) return message as Message<Of>;
      if (this.#failure) throw new HostError(this.#failure);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
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
    this.#endInput();
  }

  /** Ends the input of the agent, which ends it, without what was to be sent. */
  #endInput(): void {
    this.#silence.stop();
    clearInterval(this.#pinging);
    this.#outgoing.unpipe();
    this.#child.stdin?.end();
  }

  /** Ends the connection, and the agent with it. */
  async end(): Promise<void> {
    this.#endInput();
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

  async #receive(stdout: Readable): Promise<void> {
    const onChunk = () => {
      // What a shell prints is no answer.
      if (this.#pinging) this.#silence.hear();
    };
    for await (const line of readLines(stdout, onChunk)) {
      const message = parseMessage<FromAgent>(line);
      if (message === null) {
        this.#keepLine(line);
        continue;
      }
      if (isWhole(message)) this.#take(message);
      else this.fail(`sent a message that this version does not understand (${message.type})`);
    }
  }

  /** Begins to ask whether the host is there. */
  #startPings(): void {
    this.allowSilence(SILENT_HOST_MS);
    this.#pinging ??= setInterval(() => {
      this.#pings += 1;
      this.send({ type: 'ping', id: this.#pings });
    }, PING_MS);
  }

  #giveUp(): void {
    const seconds = this.#silence.limitMs / 1000;
    const last = this.#lines.at(-1);
    const said = last === undefined ? '' : ` (${last})`;
    this.fail(
      this.#pinging
        ? `nothing was heard for ${seconds} s: the machine or its network stands still, or is gone`
        : `no answer within ${seconds} s${said}`,
    );
    this.#child.kill();
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
      case 'hello':
        this.#startPings();
        this.#messages.push(message);
        this.#wake();
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
    const remote = { remoteCommand, copy, hasAnswered: this.#pinging !== undefined };
    const { message, code } = describeEnd({ ...ended, lines: this.#lines }, remote);
    this.fail(message, code);
  }

  #keepLine(line: string): void {
    const text = line.trim();
    if (text === '') return;
    this.#lines.push(text);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
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
