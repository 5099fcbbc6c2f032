import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { MillraceError } from '../errors.js';
import type { CommandOptions } from './command.js';

/** A command that was started; it may have ended since. */
export interface SpawnedCommand {
  pid: number;
  /** Resolves with how it ended, as in `ended with exit code 1`. */
  ended: Promise<string>;
  /** The telling line at the end of its output; empty if it wrote none. */
  lastLine(): string;
  /** Reads no more: a process that left the group may keep the pipes open, and with them this process. */
  closeOutput(): void;
}

/**
 * Starts a command in a process group of its own, without a shell, and reads what it writes.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if it cannot be started.
 */
export async function spawnCommand(
  command: string[],
  { onOutput, env }: Pick<CommandOptions, 'onOutput' | 'env'>,
): Promise<SpawnedCommand> {
  const [program = '', ...args] = command;
  let output = '';
  let child: ChildProcessByStdio<null, Readable, Readable>;
  try {
    child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(env && { env }),
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-KEPT_OUTPUT);
        onOutput?.(chunk);
      });
    }
    await once(child, 'spawn');
  } catch (error) {
    throw cannotStart(program, error);
  }
  return {
    pid: child.pid as number,
    ended: describeEnd(child),
    lastLine: () => tellingLine(output),
    closeOutput() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

const KEPT_OUTPUT = 2048;

function cannotStart(program: string, cause: unknown): MillraceError {
  const code = (cause as NodeJS.ErrnoException).code;
  const reasons: Record<string, string> = {
    ENOENT: 'no such program',
    EACCES: 'it is not executable',
    ERR_INVALID_ARG_VALUE: 'no program is named',
  };
  const reason = reasons[code ?? ''] ?? (cause as Error).message;
  const message = `cannot start \`${program}\`: ${reason}`;
  return new MillraceError('ERR_MILLRACE_COMMAND', message, { cause });
}

async function describeEnd(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // The last output is still in the pipes, which a process that it left behind may keep open for ever.
  await Promise.race([closed, sleep(100, undefined, { ref: false })]);
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

/** Runtimes end with a stack trace or their version: the last line that names an error says more. */
function tellingLine(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const error = lines.findLast((line) => ERROR_LINE.test(line));
  return (error ?? lines.at(-1) ?? '').trim();
}

// As in `TypeError: bad`, `Error [ERR_X]: bad`, `panic: bad`, `FATAL: bad`.
const ERROR_LINE = /^[\w .-]*(error|exception|fatal|panic)\b( \[\w+\])?:/i;
