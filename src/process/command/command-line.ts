import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { MillraceError } from '../../errors/millrace-error.js';
import { maskArguments } from '../../masking/text.js';
import { shellQuote } from './shell-quote.js';

/** A command: a program and its arguments, or text that the shell runs. */
export type Command = string | readonly string[];

/** Lists the words of a command, to be shown; text is one word. */
export function listWords(command: Command): readonly string[] {
  return typeof command === 'string' ? [command] : command;
}

/** A parsed command line. */
export interface CommandLine {
  /** The program and its arguments, or the text for the shell. */
  words: readonly string[];
  /** Whether the shell runs the text. */
  shell: boolean;
  /** The assignments before the program, as in `PORT=3000 node server.js`. */
  environment: Record<string, string>;
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s;

/**
 * Parses a command as people type it: the shell runs text. In a list assignments of environment variables may precede the
 * program, and the shell runs a whole command in quotes. `cwd` is the folder that it runs in.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if no program is named.
 */
export function readCommandLine(command: Command, cwd = '.'): CommandLine {
  const environment: Record<string, string> = {};
  const given = listWords(command);
  const broken = given.find((word) => word.includes('\0'));
  if (broken !== undefined) {
    const message = `cannot start a command with a zero byte in ${inspect(broken)}`;
    throw new MillraceError('ERR_MILLRACE_COMMAND', message);
  }
  if (typeof command === 'string') return { words: given, shell: true, environment };
  let words = given;
  while (!isForShell(words, cwd)) {
    const [, name, value = ''] = ASSIGNMENT.exec(words[0] ?? '') ?? [];
    if (name === undefined) return { words, shell: false, environment };
    environment[name] = value;
    words = words.slice(1);
    if (words.length === 0) {
      const shown = maskArguments(given).map(shellQuote).join(' ');
      const message = `cannot start \`${shown}\`: no program is named: try -- ${shown} node server.js`;
      throw new MillraceError('ERR_MILLRACE_COMMAND', message);
    }
  }
  return { words, shell: true, environment };
}

function isForShell([word = '', ...more]: readonly string[], cwd: string): boolean {
  const isText = more.length === 0 && /\S\s+\S/.test(word);
  return isText && process.platform !== 'win32' && !existsSync(resolve(cwd, word));
}

/** Creates the error for a program that could not be started, with a suggestion. */
export function createStartError({ words }: CommandLine, cause: unknown, cwd = '.'): MillraceError {
  const [program = ''] = words;
  const { code = '', message: raw } = cause as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOENT: 'no such program',
    EACCES: isDirectory(resolve(cwd, program)) ? 'it is a directory' : 'it is not executable',
    ERR_INVALID_ARG_VALUE: 'no program is named',
  };
  const advice = suggestCommand(maskArguments(words), cwd);
  const message = `cannot start \`${program}\`: ${reasons[code] ?? raw}${advice === null ? '' : `; ${advice}`}`;
  return new MillraceError('ERR_MILLRACE_COMMAND', message, { cause });
}

const SHELL_WORD =
  /^(\.|alias|cd|eval|exec|export|for|if|nohup|set|source|time|trap|ulimit|umask|unset|while|[({!].*)$/;

function suggestCommand(words: string[], cwd: string): string | null {
  const [program = ''] = words;
  if (program === '') return null;
  const line = words.map(shellQuote).join(' ');
  if (/^https?:\/\//i.test(program)) return `a URL stands before --: ${line} -- COMMAND`;
  if (SHELL_WORD.test(program) && !(program === '.' && words.length === 1)) {
    return `it is a word of the shell: -- sh -c ${shellQuote(`${words.join(' ')} && node server.js`)}`;
  }
  if (/\.[cm]?tsx?$/.test(program)) return `try -- npx tsx ${line}`;
  if (/\.[cm]?jsx?$/.test(program) || isDirectory(resolve(cwd, program)))
    return `try -- node ${line}`;
  if (scripts(cwd).includes(program)) return `try -- npm run ${line}`;
  if (existsSync(join(cwd, 'node_modules', '.bin', program))) return `try -- npx ${line}`;
  return null;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Reads the names of the scripts in the folder's package.json. */
function scripts(cwd: string): string[] {
  try {
    const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as {
      scripts?: object;
    };
    return Object.keys(scripts ?? {});
  } catch {
    return [];
  }
}
