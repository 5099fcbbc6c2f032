import { existsSync } from 'node:fs';
import { usageError } from '../../../errors/millrace-error.js';
import type { CompareSide, ComparisonSideName } from '../../../index.js';
import { maskArguments } from '../../../masking/text.js';
import { shellQuote } from '../../../process/command/shell-quote.js';
import { checkUrlOperand, setTarget } from '../load/target.js';
import type { Operands } from '../parse.js';
import type { CompareInvocation } from './invocation.js';

const FORMS =
  'compare needs two: -- COMMAND_A -- COMMAND_B, or URL_A URL_B, or OLD.json NEW.json, or one command and what differs: --stack, --env-a, --env-b, --cwd-a, --cwd-b';

/** Refuses an operand that is neither a URL nor a file of results. */
export function checkOperand(operand: string, rest: string[], isFirst: boolean): void {
  if (!isResultFile(operand)) checkUrlOperand(operand, rest, isFirst);
}

/** Stores what the operands say about the two sides and about the load. */
export function setSides(invocation: CompareInvocation, operands: Operands): void {
  const { positional, command } = operands;
  const { given, sides, stack } = invocation;
  const isGiven = given.a.length + given.b.length > 0;
  const isPair = command === null && !isGiven;
  setTarget(invocation, { ...operands, positional: isPair ? [] : positional, command: null });
  if (stack) setStack(sides);
  if (isGiven) setGiven(invocation, operands);
  else if (command !== null) setCommands(invocation, command);
  else if (positional.length === 2) setPair(sides, positional);
  else throw usageError(`${FORMS}${describePositional(positional)}`);
}

function describePositional(positional: string[]): string {
  return positional.length === 0 ? '' : ` (got ${positional.map((it) => `'${it}'`).join(' ')})`;
}

function setStack({ a, b }: CompareInvocation['sides']): void {
  a.stack = false;
  b.stack = true;
}

/** Two URLs or two files. */
function setPair({ a, b }: CompareInvocation['sides'], [first = '', second = '']: string[]): void {
  const isFile = [first, second].map(isResultFile);
  if (isFile[0] !== isFile[1]) {
    throw usageError(
      `a URL cannot be compared with a file of results (got '${first}' '${second}')`,
    );
  }
  Object.assign(a, isFile[0] ? { files: [first] } : { url: first });
  Object.assign(b, isFile[0] ? { files: [second] } : { url: second });
}

function isResultFile(operand: string): boolean {
  if (/^\w+:\/\//.test(operand)) return false;
  return /\.json$/i.test(operand) || (!/^[\w.-]*:\d+/.test(operand) && existsSync(operand));
}

/** The command after `--`, or the two that another `--` separates. */
function setCommands({ options, sides }: CompareInvocation, words: string[]): void {
  const [first = [], second, ...more] = split(words);
  if (more.length > 0) {
    const quoted = words.map(shellQuote).join(' ');
    throw usageError(
      `-- separates the two commands and may stand between them only once (got '${quoted}'): for a command that has -- itself write --a 'npm start -- --port 3000' --b 'COMMAND'`,
    );
  }
  const isEmpty = [first, second ?? first].some((command) => command.length === 0);
  if (isEmpty) throw usageError('-- given without a command after it');
  if (second) {
    sides.a.command = first;
    sides.b.command = second;
    return;
  }
  const hasOwn = ({ env, cwd, stack }: CompareSide) =>
    [env, cwd, stack].some((it) => it !== undefined);
  if (!hasOwn(sides.a) && !hasOwn(sides.b)) {
    const line = maskArguments(first).map(shellQuote).join(' ');
    throw usageError(
      `compare needs two commands, or what differs (--stack, --env-b, --cwd-b): -- ${line} -- OTHER`,
    );
  }
  options.command = first;
}

/** Splits at each `--`. */
function split(words: string[]): string[][] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (word === '--') parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts;
}

/** What `--a` and `--b` name. */
function setGiven(invocation: CompareInvocation, { command, positional }: Operands): void {
  const { given, sides } = invocation;
  const missing = (['a', 'b'] as const).find((side) => given[side].length === 0);
  if (missing) throw usageError(`--${missing} is missing: --a and --b name the two sides`);
  if (command !== null) {
    throw usageError('--a and --b name the two commands: -- COMMAND cannot be combined with them');
  }
  for (const side of ['a', 'b'] as const) Object.assign(sides[side], readGiven(side, given[side]));
  const [stray] = positional;
  const [ofCommand] = [sides.a, sides.b].filter(({ command }) => command !== undefined);
  if (stray === undefined || ofCommand) return;
  const advice = sides.a.files
    ? "quote a pattern or a list, as in --a 'main-*.json' --b 'branch-*.json'"
    : '--a and --b have their URLs';
  throw usageError(`'${stray}' belongs to no side: ${advice}`);
}

function readGiven(side: ComparisonSideName, values: string[]): CompareSide {
  const words = values.flatMap((value) => value.split(/[\s,]+/)).filter((word) => word !== '');
  if (words.length > 0 && words.every((word) => /\.json$/i.test(word))) return { files: words };
  const [value = '', ...more] = values;
  if (more.length > 0) {
    throw usageError(`--${side} may be repeated for files of results only (got '${more[0]}')`);
  }
  if (value.trim() === '') throw usageError(`--${side} must be a command, files or a URL (got '')`);
  return /^https?:\/\/\S+$/i.test(value) ? { url: value } : { command: [value.trim()] };
}
