import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { TrialRequest } from '../discovery/trial-request.js';
import { cannotStart, readCommandLine } from './command-line.js';

/** A command that was started; it may have ended since. */
export interface SpawnedCommand {
  pid: number;
  /** Resolves with how it ended, as in `ended with exit code 1`. */
  ended: Promise<string>;
  /** The telling line at the end of its output; empty if it wrote none. */
  lastLine(): string;
  /** Closes its pipes: a process that left the group may keep them open, and with them this process. */
  close(): void;
}

/**
 * Starts a command in a process group of its own, and reads what it writes. Its standard input stays open and empty as
 * long as this process lives: there are servers that end with it.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if it cannot be started.
 */
export async function spawnCommand(
  command: string[],
  { onOutput, env }: Pick<CommandOptions, 'onOutput' | 'env'>,
): Promise<SpawnedCommand> {
  const line = readCommandLine(command);
  const [program = '', ...args] = line.words;
  const own = { ...process.env, ...line.assigned };
  let output = '';
  let child: ChildProcessByStdio<Writable, Readable, Readable>;
  try {
    child = spawn(program, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: env?.(own) ?? own,
    });
    // A server may close it.
    child.stdin.on('error', () => {});
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-KEPT_OUTPUT);
        onOutput?.(chunk);
      });
    }
    await once(child, 'spawn');
  } catch (error) {
    throw cannotStart(line, error);
  }
  return {
    pid: child.pid as number,
    ended: describeEnd(child),
    lastLine: () => tellingLine(output),
    close() {
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

const KEPT_OUTPUT = 2048;

async function describeEnd(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
): Promise<string> {
  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // The last output is still in the pipes, which a process that it left behind may keep open for ever.
  await Promise.race([closed, sleep(100, undefined, { ref: false })]);
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

/** Runtimes end with a stack trace or their version, npm with where its log is: the last line that names an error says more. */
function tellingLine(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const own = lines.filter((line) => !/^npm [a-z]+!? /i.test(line));
  const error =
    own.findLast((line) => ERROR_LINE.test(line)) ?? lines.find((line) => NPM_ERROR.test(line));
  return (error ?? lines.at(-1) ?? '').trim();
}

// As in `TypeError: bad`, `Error [ERR_X]: bad`, `panic: bad`, `FATAL: bad`.
const ERROR_LINE = /^[\w .-]*(error|exception|fatal|panic)\b( \[\w+\])?:/i;
/** The first of these that is a sentence. */
const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |command )\S/;
/** How `startCommand` waits for the server. */

export interface CommandOptions {
  /** The port to wait for; without it the TCP port that the command's process serves on, or else one that it has started; the lowest. */
  port?: number;
  /** Where no port is given: what is asked of each port; one that does not answer it is only taken where no other does. */
  trial?: TrialRequest;
  /** The most time until the port is open. */
  timeoutMs: number;
  /** Gives up waiting: the server is stopped, and the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Receives what the server writes to stdout and stderr. */
  onOutput?: (chunk: Buffer) => void;
  /** Makes its environment of this process's own and what is assigned before the command; the same if absent. */
  env?: (own: NodeJS.ProcessEnv) => NodeJS.ProcessEnv;
}
