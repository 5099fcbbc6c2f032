import { statSync } from 'node:fs';
import { usageError } from '../../errors/millrace-error.js';
import type { Command } from '../../process/command/command-line.js';
import type { CommandOptions } from '../../process/command/spawn.js';

/** The command of a server, with its environment and folder. */
export interface ServerCommand extends Pick<CommandOptions, 'env' | 'cwd'> {
  command: Command;
}

/** The same as options, of which each may be absent. */
type CommandParts = { [Option in keyof ServerCommand]?: ServerCommand[Option] | undefined };

/** Refuses a command that names no program, and an environment or folder without a command or that cannot be used. */
export function checkCommand({ command, env, cwd }: CommandParts): void {
  if (command === undefined) {
    const [name] = Object.entries({ env, cwd }).find(([, value]) => value !== undefined) ?? [];
    if (name === undefined) return;
    throw usageError(`${name} needs a command: a server that runs already keeps its own`);
  }
  if (command.length === 0) {
    const given = typeof command === 'string' ? "''" : 'an empty list';
    throw usageError(`command must name a program (got ${given})`);
  }
  if (cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw usageError(`cwd must be a directory (got '${cwd}')`);
}
