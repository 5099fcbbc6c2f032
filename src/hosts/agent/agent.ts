// The part of a load on many machines that runs on each of them.
import { type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { packageVersion } from '../../environment/version.js';
import { fileErrorReason } from '../../errors/file-errors.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { runLoad } from '../../load/engine/run.js';
import { Snapshots } from '../../load/engine/snapshots.js';
import { wallClockMs } from '../../load/engine/start.js';
import { provideInputs } from '../../load/input/provided.js';
import type { LoadOptions } from '../../load/options.js';
import { platformName } from '../../native/addon.js';
import { SILENT_COORDINATOR_MS } from '../defaults.js';
import { decodeOptions } from '../encode-options.js';
import { parseMessage, readLines } from '../json-lines.js';
import type { FromAgent, SentTree, ToAgent } from '../messages.js';
import { SilenceWatch } from '../silence-watch.js';
import { placeFiles } from './place-files.js';

const compress = promisify(deflate);

/** What an agent needs of its process. */
export interface AgentProcess {
  /** Messages of the machine that began the run. Their end ends the run. */
  input: Readable;
  send(message: FromAgent): void;
  /** Called when the engine runs. */
  onRunning(): void;
}

/** Runs one share of a load as the machine at the other end says. Resolves when that has ended the connection, and the run has ended. */
export async function runAgent({ input, send, onRunning }: AgentProcess): Promise<void> {
  const share = new Share(send, onRunning);
  send({ type: 'hello', version: packageVersion(), platform: platformName() });
  const silence = new SilenceWatch(SILENT_COORDINATOR_MS, () => input.destroy());
  for await (const line of readLines(input, () => silence.hear())) {
    const message = parseMessage<ToAgent>(line);
    if (message !== null) share.receive(message);
  }
  silence.stop();
  await share.end();
}

/** A share of a run, from its options to its result. */
class Share {
  readonly #send: AgentProcess['send'];
  readonly #onRunning: () => void;
  readonly #stop = new AbortController();
  readonly #start: Promise<number>;
  #startAt: (atMs: number) => void = () => {};
  #run: Promise<void> = Promise.resolve();

  constructor(send: AgentProcess['send'], onRunning: () => void) {
    this.#send = send;
    this.#onRunning = onRunning;
    this.#start = new Promise((resolve, reject) => {
      this.#startAt = resolve;
      const { signal } = this.#stop;
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#start.catch(() => {});
  }

  receive(message: ToAgent): void {
    switch (message.type) {
      case 'ping':
        this.#send({ type: 'pong', id: message.id, atMs: wallClockMs() + shiftMs() });
        break;
      case 'prepare':
        this.#run = this.#runAll(message);
        break;
      case 'start':
        this.#startAt(message.atMs - shiftMs());
        break;
      case 'stop':
        this.#stop.abort();
        break;
    }
  }

  end(): Promise<void> {
    this.#stop.abort();
    return this.#run;
  }

  async #runAll(message: Extract<ToAgent, { type: 'prepare' }>): Promise<void> {
    try {
      this.#send({ type: 'result', deflated: await this.#measure(message) });
    } catch (error) {
      if (error === this.#stop.signal.reason) this.#send({ type: 'stopped' });
      else this.#send(describeError(error));
    }
  }

  async #measure({
    options,
    inputs,
    tree,
  }: Extract<ToAgent, { type: 'prepare' }>): Promise<string> {
    const contents = Object.entries(inputs).map(
      ([path, content]) => [path, Buffer.from(content, 'base64')] as const,
    );
    provideInputs(new Map(contents));
    if (tree) placeTree(tree);
    return this.#load(decodeOptions(options));
  }

  async #load(options: LoadOptions): Promise<string> {
    const snapshots = new Snapshots();
    this.#follow(snapshots).catch(() => {});
    const awaitStart = () => {
      this.#send({ type: 'ready' });
      return this.#start;
    };
    const signal = this.#stop.signal;
    try {
      const { result } = await runLoad({ ...options, signal }, { snapshots, awaitStart });
      const startedAtMs = result.startedAtMs + shiftMs();
      const json = JSON.stringify({ ...result, startedAtMs });
      return (await compress(json)).toString('base64');
    } finally {
      snapshots.end();
    }
  }

  async #follow(snapshots: Snapshots): Promise<void> {
    let isRunning = false;
    for await (const snapshot of snapshots) {
      this.#send({ type: 'snapshot', snapshot });
      if (!isRunning && snapshot.phase !== 'wait') this.#onRunning();
      isRunning ||= snapshot.phase !== 'wait';
    }
  }
}

/** Places files in a folder that is removed at the end of the process. */
function placeTree(tree: SentTree): void {
  try {
    placeFiles(tree, makeFolder());
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(
      `files cannot be written there: ${fileErrorReason(error)} (${tmpdir()}; TMPDIR names another folder)`,
    );
  }
}

/** Creates a folder that is removed at the end of the process, however that ends. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-agent-'));
  removeAfterEnd(folder);
  process.once('exit', () => {
    // Windows removes no working folder.
    process.chdir(tmpdir());
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Starts a shell that removes a folder when its input ends, with this process: also by SIGKILL. */
function removeAfterEnd(folder: string): void {
  if (process.platform === 'win32') return;
  const stdio: StdioOptions = ['pipe', 'ignore', 'ignore'];
  const script = 'read -r _; rm -rf "$1"';
  const child = spawn('sh', ['-c', script, 'sh', folder], { stdio, detached: true, cwd: '/' });
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  child.unref();
  (child.stdin as Socket | null)?.unref();
}

function describeError(error: unknown): FromAgent {
  if (error instanceof MillraceError) {
    return { type: 'error', code: error.code, message: addHint(error.message) };
  }
  const { message } = error as Error;
  return { type: 'error', code: 'ERR_MILLRACE_ENGINE', message: message || String(error) };
}

/** Says what to do about what only the sender has: a file, or a server of its own. */
function addHint(message: string): string {
  if (/ (?:localhost|127\.[\d.]+|\[::1\]):\d/.test(message)) {
    return `${message}; localhost is each host itself`;
  }
  if (!/ENOENT.*millrace-agent-/.test(message)) return message;
  return `${message.replace(/'[^']*millrace-agent-[^/\\]*[/\\]/, "'")}: files that a scenario opens by itself are not sent; import them, or put them on the host`;
}

/** For tests: by how much the clock of this agent is to be ahead. */
function shiftMs(): number {
  return Number(process.env.MILLRACE_TEST_CLOCK_AHEAD_MS ?? 0);
}
