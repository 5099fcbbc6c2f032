import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { findNearest } from '../../validation/nearest.js';
import { dashed, type Flag, listNames } from './flag.js';

/** The operands of a command line, and its flags as they were typed. */
export interface Operands {
  positional: string[];
  /** The arguments after `--`; `null` without it. */
  command: string[] | null;
  /** The flags, in the order of the command line. */
  flags: TypedFlag[];
  /** All arguments. */
  args: string[];
}

/** A flag of a command line. */
export interface TypedFlag {
  /** The flag's main name, without dashes. */
  name: string;
  /** The flag as it was typed. */
  flag: string;
  /** The placeholder of its value in the help; `undefined` for a switch. */
  placeholder: string | undefined;
  /** The value; `undefined` for a switch. */
  value: string | undefined;
  /** The value, where it was an argument of its own. */
  separateValue: string | undefined;
}

/** Advice about flags that are not supported, by their names without dashes. */
export type UnsupportedFlags = Record<string, string>;

/** The flags and the rules of a command's arguments. */
export interface Grammar<Into> {
  /** The command's name, as `explain`. */
  command: string;
  flags: readonly Flag<Into>[];
  unsupported?: UnsupportedFlags;
  /** Refuses an operand, before the arguments after it are read. */
  checkOperand?(operand: string, rest: string[], isFirst: boolean): void;
}

/** The error for a flag that a command does not know. Another command may know it. */
export class UnknownFlag extends MillraceError {
  /** The flag as it was typed. */
  readonly flag: string;
  /** Its name, without dashes. */
  readonly flagName: string;
  /** The command, as `explain`. */
  readonly command: string;

  constructor(flag: string, flagName: string, command: string, advice: string) {
    super('ERR_MILLRACE_USAGE', `unknown flag '${flag}'; ${advice}`);
    this.flag = flag;
    this.flagName = flagName;
    this.command = command;
  }
}

/**
 * Stores the flags of a command line in `into` and returns the rest. Accepts `-c 400`, `-c400`, `-kj`, `--flag value`,
 * `--flag=value`, and long names with one dash.
 */
export function parseArguments<Into>(args: string[], into: Into, grammar: Grammar<Into>): Operands {
  return new Parser(args, into, grammar).parse();
}

class Parser<Into> {
  readonly #args: string[];
  readonly #into: Into;
  readonly #grammar: Grammar<Into>;
  /** Flags by the names that follow two dashes, and by those that follow one. */
  readonly #long = new Map<string, Flag<Into>>();
  readonly #short = new Map<string, Flag<Into>>();
  readonly #typed: TypedFlag[] = [];
  #index = 0;

  constructor(args: string[], into: Into, grammar: Grammar<Into>) {
    this.#args = args;
    this.#into = into;
    this.#grammar = grammar;
    for (const flag of grammar.flags) {
      this.#long.set(flag.name, flag);
      for (const name of listNames(flag)) {
        if (name.length > 1) this.#long.set(name, flag);
        else if (name !== flag.name) this.#short.set(name, flag);
      }
    }
  }

  parse(): Operands {
    const positional: string[] = [];
    const rest = { positional, flags: this.#typed, args: this.#args };
    for (;;) {
      const arg = this.#next();
      if (arg === undefined) return { ...rest, command: null };
      if (arg === '--') return { ...rest, command: this.#args.slice(this.#index) };
      if (arg.startsWith('-') && arg !== '-') {
        this.#flag(arg);
      } else {
        const isFirst = positional.length === 0;
        this.#grammar.checkOperand?.(arg, this.#args.slice(this.#index), isFirst);
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
    // With one dash it is a long name only if there is such a flag, as in vegeta and hey.
    const isKnown = this.#long.has(name) || this.#findAdvice(name) !== undefined;
    if (dashes === '--' || (name.length > 1 && isKnown)) this.#readLong(arg, name, value);
    else this.#readShort(arg.slice(1));
  }

  #readLong(arg: string, name: string, value: string | undefined): void {
    const flag = this.#long.get(name);
    const typed = value === undefined ? arg : arg.slice(0, -value.length - 1);
    if (!flag) throw this.#unknown(typed, name);
    if (flag.value !== undefined) this.#setValue(flag, typed, value);
    else if (value === undefined) this.#set(flag, typed, '');
    else throw usageError(`${typed} takes no value (got '${value}')`);
  }

  #readShort(letters: string): void {
    const [letter = '', ...more] = letters;
    const flag = this.#short.get(letter);
    // A long name of another tool with one dash, as vegeta's -max-workers; no request method looks like that.
    if (/^m[a-z]*-[a-z-]+(=|$)/.test(letters)) throw this.#unknown(`-${letters}`, letters);
    const typed = `-${letter}`;
    if (!flag) throw this.#unknown(typed, letter);
    const rest = more.join('');
    if (flag.value !== undefined) {
      this.#setValue(flag, typed, rest === '' ? undefined : rest.replace(/^=/, ''));
      return;
    }
    this.#set(flag, typed, '');
    if (rest !== '') this.#readShort(rest);
  }

  /** Sets a flag that has a value: the attached one, or the next argument. */
  #setValue(flag: Flag<Into>, typed: string, attached: string | undefined): void {
    if (attached !== undefined) {
      this.#set(flag, typed, attached);
      return;
    }
    const next = this.#args[this.#index];
    const isShort = typed === `-${flag.short}`;
    if (flag.bare && isShort && (next === undefined || flag.bare.unless(next))) {
      this.#record(flag, typed);
      flag.bare.set(this.#into);
      return;
    }
    const value = this.#next();
    if (value === undefined) throw usageError(`${typed} needs a value: ${typed} ${flag.value}`);
    this.#set(flag, typed, value, value);
  }

  #set(flag: Flag<Into>, typed: string, value: string, separateValue?: string): void {
    this.#record(flag, typed, flag.value === undefined ? undefined : value, separateValue);
    flag.set(this.#into, value, typed);
  }

  #record(
    { name, value: placeholder }: Flag<Into>,
    flag: string,
    value?: string,
    separateValue?: string,
  ): void {
    this.#typed.push({ name, flag, placeholder, value, separateValue });
  }

  #findAdvice(name: string): string | undefined {
    const { unsupported = {} } = this.#grammar;
    return Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
  }

  #unknown(typed: string, name: string): Error {
    const { command } = this.#grammar;
    const alternative = this.#findAdvice(name);
    if (alternative !== undefined) return usageError(`${typed} is not supported: ${alternative}`);
    // A name of one or two letters is near to too many others.
    const longNames = [...this.#long.keys()].filter((known) => known.length > 1);
    const near = name.length > 2 ? findNearest(name, longNames) : undefined;
    const help = command === 'load' ? 'millrace --help' : `millrace ${command} --help`;
    const advice = near ? `did you mean ${dashed(near)}?` : `run ${help} for the list of flags`;
    return new UnknownFlag(typed, name, command, advice);
  }
}
