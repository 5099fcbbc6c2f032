import { MillraceError, usageError } from '../../errors.js';
import { findNearest } from '../../validation/nearest.js';
import { refuseBareCommand, refuseBody } from '../bare-command.js';
import { dashed, type Flag, listNames } from './flag.js';

/** What is left when the flags are taken out. */
export interface Operands {
  positional: string[];
  /** What follows `--`; `null` without one. */
  command: string[] | null;
  /** The flags, in the order in which they were typed. */
  flags: TypedFlag[];
}

/** A flag of a command line. */
export interface TypedFlag {
  /** The flag's name in the table, without dashes. */
  name: string;
  /** The flag as it was typed. */
  given: string;
  /** What stands for the value in the help; `undefined` for a switch. */
  placeholder: string | undefined;
  /** The value, where it was an argument of its own. */
  separateValue: string | undefined;
}

/** Other tools' flags that are not taken: name to what to do instead. */
export type UnsupportedFlags = Record<string, string>;

/** A flag that a command does not have: another one may. */
export class UnknownFlag extends MillraceError {
  /** As it was typed. */
  readonly given: string;
  /** Without dashes. */
  readonly flag: string;
  /** Of millrace, as `explain`. */
  readonly command: string;

  constructor(given: string, flag: string, command: string, advice: string) {
    super('ERR_MILLRACE_USAGE', `unknown flag '${given}'; ${advice}`);
    this.given = given;
    this.flag = flag;
    this.command = command;
  }
}

/**
 * Sets the flags of a command line in `into`. Knows `-c 400`, `-c400`, `-kj`, `--flag value`, `--flag=value`, and long
 * names with one dash. `topic`: whose help lists the flags.
 */
export function parseArguments<Into>(
  args: string[],
  flags: Flag<Into>[],
  into: Into,
  unsupported: UnsupportedFlags = {},
  topic?: string,
): Operands {
  const parser = new Parser(args, flags, into, unsupported, topic);
  return parser.parse();
}

class Parser<Into> {
  readonly #args: string[];
  readonly #into: Into;
  readonly #flags = new Map<string, Flag<Into>>();
  readonly #unsupported: UnsupportedFlags;
  readonly #topic: string | undefined;
  readonly #typed: TypedFlag[] = [];
  #index = 0;

  constructor(
    args: string[],
    flags: Flag<Into>[],
    into: Into,
    refusals: UnsupportedFlags,
    topic: string | undefined,
  ) {
    this.#args = args;
    this.#into = into;
    this.#unsupported = refusals;
    this.#topic = topic;
    for (const flag of flags) for (const name of listNames(flag)) this.#flags.set(name, flag);
  }

  parse(): Operands {
    const positional: string[] = [];
    for (;;) {
      const arg = this.#next();
      if (arg === undefined) return { positional, command: null, flags: this.#typed };
      if (arg === '--') {
        return { positional, command: this.#args.slice(this.#index), flags: this.#typed };
      }
      if (arg.startsWith('-') && arg !== '-') this.#flag(arg);
      else {
        const takesUrls = this.#flags.has('url');
        if (takesUrls && positional.length === 0)
          refuseBareCommand(arg, this.#args.slice(this.#index));
        if (takesUrls) refuseBody(arg);
        positional.push(arg);
      }
    }
  }

  #next(): string | undefined {
    const arg = this.#args[this.#index];
    if (arg !== undefined) this.#index += 1;
    return arg;
  }

  #flag(arg: string): void {
    const [, dashes = '', name = '', value] = /^(--?)([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    // With one dash it is a long name only if there is such a flag: vegeta's and hey's habit.
    const isKnown = this.#flags.has(name) || Object.hasOwn(this.#unsupported, name);
    if (dashes === '--' || (name.length > 1 && isKnown)) this.#long(arg, name, value);
    else this.#short(arg.slice(1));
  }

  #long(arg: string, name: string, value: string | undefined): void {
    const flag = name.length > 1 ? this.#flags.get(name) : undefined;
    const given = value === undefined ? arg : arg.slice(0, -value.length - 1);
    if (!flag) throw this.#unknown(given, name);
    if (flag.value !== undefined) this.#set(flag, given, value);
    else if (value === undefined) this.#switchOn(flag, given);
    else throw usageError(`${given} takes no value (got '${value}')`);
  }

  #short(letters: string): void {
    const [letter = '', ...more] = letters;
    const flag = this.#flags.get(letter);
    // A long name of another tool with one dash, as vegeta's -max-workers: no method is written like that.
    if (/^m[a-z]*-[a-z-]+(=|$)/.test(letters)) throw this.#unknown(`-${letters}`, letters);
    const given = `-${letter}`;
    if (!flag) throw this.#unknown(given, letter);
    const rest = more.join('');
    if (flag.value !== undefined) {
      this.#set(flag, given, rest === '' ? undefined : rest.replace(/^=/, ''));
      return;
    }
    this.#switchOn(flag, given);
    if (rest !== '') this.#short(rest);
  }

  #switchOn(flag: Flag<Into>, given: string): void {
    this.#record(flag, given);
    flag.set(this.#into, '', given);
  }

  #record({ name, value: placeholder }: Flag<Into>, given: string, separateValue?: string): void {
    this.#typed.push({ name, given, placeholder, separateValue });
  }

  #set(flag: Flag<Into>, given: string, attached: string | undefined): void {
    if (attached !== undefined) {
      this.#record(flag, given);
      flag.set(this.#into, attached, given);
      return;
    }
    const next = this.#args[this.#index];
    if (flag.bare && given === `-${flag.short}` && (next === undefined || flag.bare.unless(next))) {
      this.#record(flag, given);
      flag.bare.set(this.#into);
      return;
    }
    const value = this.#next();
    if (value === undefined) throw usageError(`${given} needs a value: ${given} ${flag.value}`);
    this.#record(flag, given, value);
    flag.set(this.#into, value, given);
  }

  #unknown(given: string, name: string): Error {
    const alternative = Object.hasOwn(this.#unsupported, name)
      ? this.#unsupported[name]
      : undefined;
    if (alternative !== undefined) return usageError(`${given} is not supported: ${alternative}`);
    // A letter or two are near to too much.
    const longNames = [...this.#flags.keys()].filter((known) => known.length > 1);
    const near = name.length > 2 ? findNearest(name, longNames) : undefined;
    const help = this.#topic ? `millrace ${this.#topic} --help` : 'millrace --help';
    const advice = near ? `did you mean ${dashed(near)}?` : `run ${help} for the list of flags`;
    return new UnknownFlag(given, name, this.#topic ?? 'load', advice);
  }
}
