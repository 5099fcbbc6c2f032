import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { TrialRequest } from '../listening/trial-request.js';
import { type Command, createStartError, readCommandLine } from './command-line.js';
import { type GroupGuard, guardGroup } from './group-guard.js';

/** A command that was started; it may have ended since. */
export interface SpawnedCommand {
  pid: number;
  /** Resolves with how it ended, for example `ended with exit code 1`. */
  ended: Promise<string>;
  /** The last line of its output that names an error, or else its last line; empty if there is no output. */
  errorLine(): string;
  /** Ends its group, and those that are added, when this process ends. */
  guard: Pick<GroupGuard, 'add'>;
  /**
   * Closes its pipes, after its end. A process that left the group may keep them open, which would keep this process alive.
   */
  close(): Promise<void>;
}

/**
 * Starts a command in a process group of its own, which ends with this process, and reads its output. Its standard
 * input stays open and empty as long as this process lives, since some servers exit when it ends.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if it cannot be started.
 */
export async function spawnCommand(
  command: Command,
  { onOutput, env, adjustEnv, cwd }: Pick<CommandOptions, 'onOutput' | 'env' | 'adjustEnv' | 'cwd'>,
): Promise<SpawnedCommand> {
  const line = readCommandLine(command, cwd);
  const [program = '', ...args] = line.words;
  const own = { ...process.env, ...line.environment, ...env };
  let output = '';
  let child: ChildProcessByStdio<Writable, Readable, Readable>;
  try {
    child = spawn(program, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: adjustEnv?.(own) ?? own,
      shell: line.shell,
      ...(cwd !== undefined && { cwd }),
    });
    // A server may close its standard input.
    child.stdin.on('error', () => {});
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-MAX_OUTPUT_LENGTH);
        onOutput?.(chunk);
      });
    }
    await once(child, 'spawn');
  } catch (error) {
    throw createStartError(line, error, cwd);
  }
  const pid = child.pid as number;
  const guard = guardGroup(pid);
  return {
    pid,
    guard,
    ended: describeEnd(child),
    errorLine: () => findErrorLine(output),
    close() {
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
      return guard.release();
    },
  };
}

const MAX_OUTPUT_LENGTH = 2048;

async function describeEnd(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
): Promise<string> {
  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // The last output is still in the pipes, which a descendant may keep open forever.
  await Promise.race([closed, sleep(100, undefined, { ref: false })]);
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

/**
 * Finds the last line that names an error. Runtimes end their output with a stack trace or their version, npm with the
 * path of its log.
 */
function findErrorLine(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const own = lines.filter((line) => !/^npm [a-z]+!? /i.test(line));
  const error =
    own.findLast((line) => ERROR_LINE.test(line)) ?? lines.find((line) => NPM_ERROR.test(line));
  return (error ?? lines.at(-1) ?? '').trim();
}

// For example `TypeError: bad`, `Error [ERR_X]: bad`, `panic: bad`, `FATAL: bad`.
const ERROR_LINE = /^[\w .-]*(error|exception|fatal|panic)\b( \[\w+\])?:/i;
/** The first line of npm that is a sentence. */
const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |command )\S/;

/** Environment variables by name. */
export type Environment = Record<string, string | undefined>;

/** Options of `startCommand`. */
export interface CommandOptions {
  /**
   * The expected port. Default: the lowest TCP port on which the command's own process serves, or else one of its
   * descendants.
   */
  port?: number;
  /**
   * Request that is sent to each port if `port` is absent. A port that does not answer it is chosen only if no other
   * does.
   */
  trial?: TrialRequest;
  /** Maximum time until the port is open. */
  timeoutMs: number;
  /** Aborts the start: the server is stopped, and the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Receives the server's output to stdout and stderr. */
  onOutput?: (chunk: Buffer) => void;
  /** Environment variables, in addition to those of this process and the assignments before the command; `undefined` removes one. */
  env?: Environment | undefined;
  /** Changes the environment that results. */
  adjustEnv?: ((own: NodeJS.ProcessEnv) => NodeJS.ProcessEnv) | undefined;
  /** Folder that it runs in. Default: that of this process. */
  cwd?: string | undefined;
}
