import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import type { LoadOptions } from '../../load/options.js';
import { listUrls } from '../../load/requests/url.js';
import { maskArguments, maskText, maskUrl } from '../../masking/text.js';
import { listWords } from '../../process/command/command-line.js';
import { shellQuote } from '../../process/command/shell-quote.js';
import type { CommandOptions } from '../../process/command/spawn.js';
import type { CompareOptions, CompareSide } from '../options.js';
import type { ComparisonSide, ComparisonSideName } from '../result.js';
import { adviseOnHttp2, buildStackEnvironment } from './stack.js';

/** A side whose server is loaded. */
export interface LiveSide {
  name: ComparisonSideName;
  side: ComparisonSide;
  load: LoadOptions;
  /** Changes the environment of its command. */
  adjustEnv: NonNullable<CommandOptions['adjustEnv']>;
}

/** Whether a side is read from stored results. */
export function isStored({ files, results }: CompareSide): boolean {
  return files !== undefined || results !== undefined;
}

/** Completes a side by the load that both have; `statsFile` receives what the stack counts. */
export function readLiveSide(
  name: ComparisonSideName,
  options: CompareOptions,
  load: LoadOptions,
  statsFile: string,
): LiveSide {
  const own = options[name];
  const { env, cwd, ...shared } = load;
  const { command = load.command, url = load.url, stack } = own;
  for (const option of ['env', 'cwd', 'stack'] as const) {
    if (own[option] !== undefined && command === undefined) {
      throw usageError(
        `${name}.${option} needs a command: a server that runs already keeps its own`,
      );
    }
  }
  const folder = own.cwd ?? cwd;
  if (folder !== undefined) checkFolder(folder, name);
  const settings = {
    env: { ...env, ...own.env },
    ...(folder !== undefined && { cwd: folder }),
  };
  return {
    name,
    side: describeSide(name, options),
    load: {
      ...shared,
      ...(command !== undefined && { command, ...settings }),
      ...(url !== undefined && { url }),
    },
    adjustEnv: (env) =>
      stack === undefined ? env : buildStackEnvironment(env, stack ? statsFile : null),
  };
}

function checkFolder(cwd: string, name: ComparisonSideName): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw usageError(`the folder of ${name.toUpperCase()} must be a directory (got '${cwd}')`);
}

/** Describes a side, secrets masked. */
export function describeSide(name: ComparisonSideName, options: CompareOptions): ComparisonSide {
  const { label, command = options.command, env = {}, stack, files = [] } = options[name];
  const { cwd = options.cwd ?? null } = options[name];
  return {
    label: maskText(label ?? deriveLabel(name, options)),
    command: command === undefined ? null : maskArguments(listWords(command)),
    env: Object.fromEntries(Object.entries(env).map(maskVariable)),
    cwd,
    stack: stack ?? null,
    files: [...files],
  };
}

function maskVariable([variable, value = '']: [string, string | undefined]): [string, string] {
  const [masked = ''] = maskArguments([`${variable}=${value}`]);
  return [variable, masked.slice(variable.length + 1)];
}

/** Names a side by what the other one does not share, or by all that it has if they share everything. */
function deriveLabel(name: ComparisonSideName, options: CompareOptions): string {
  const own = describeParts(options[name], options);
  const other = describeParts(options[name === 'a' ? 'b' : 'a'], options);
  const differing = Object.keys(own) as (keyof typeof own)[];
  const parts = differing.filter((part) => own[part] !== other[part]).map((part) => own[part]);
  const label = parts.filter((part) => part !== null).join(', ');
  return label || own.files || own.command || own.url || '';
}

function describeParts(side: CompareSide, shared: CompareOptions) {
  const { command = shared.command, url = shared.url, env = {}, stack, files, results } = side;
  const variables = Object.entries(env).map((entry) => maskVariable(entry).join('='));
  const stacks = { true: "Millrace's HTTP stack", false: "Node's own HTTP stack" } as const;
  const urls = listUrls(url).map(maskUrl).join(' ');
  return {
    files: files?.join(' ') ?? (results ? 'this run' : null),
    command: command === undefined ? null : formatCommand(maskArguments(listWords(command))),
    url: urls || null,
    cwd: nameFolder(side, shared),
    env: variables.join(' ') || 'environment as it is',
    stack: stack === undefined ? null : stacks[`${stack}`],
  };
}

/** The name of a side's folder; the path where both have the same name, as in `main/app` and `branch/app`. */
function nameFolder(side: CompareSide, { a, b, cwd: shared = '.' }: CompareOptions): string {
  const [nameOfA, nameOfB] = [a, b].map(({ cwd = shared }) => basename(resolve(cwd)));
  const { cwd = shared } = side;
  return nameOfA === nameOfB ? cwd : basename(resolve(cwd));
}

/** A command in one word is a line for the shell. */
function formatCommand(command: readonly string[]): string {
  const [line = '', ...more] = command;
  return more.length === 0 ? line : command.map(shellQuote).join(' ');
}

/** Runs a step of a side; its errors name the side, and end with `note`. */
export async function runOnSide<Result>(
  { name, side: { stack } }: LiveSide,
  step: () => Promise<Result>,
  note = '',
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const text = stack === false ? adviseOnHttp2(error.message) : error.message;
    const message = `${name.toUpperCase()}: ${text}${note}`;
    throw new MillraceError(error.code, message, { cause: error });
  }
}
