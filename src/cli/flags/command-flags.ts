import type { Flag, FlagGroup } from './flag.js';
import { type Operands, parseArguments, type UnsupportedFlags } from './parse.js';

/** The flags of a command, as the help, the reference page and the advice about other commands' flags need them. */
export interface FlagTable<Into> {
  /** The flags that only this command has, or that have another meaning in it. */
  groups: readonly FlagGroup<Into>[];
  /** The flags that it shares with `millrace load`. */
  shared?: readonly Flag<Into>[];
  /** Advice about flags of other tools and of `millrace load` that it does not support. */
  unsupported?: UnsupportedFlags;
  /** Advice about flags of other commands, by their main names: what this command has instead. */
  alternatives?: Record<string, string>;
  /** Text at the end of its help. */
  epilogue?: string;
}

/** The flags of a command, and the way that its arguments become an invocation. */
export interface CommandFlags<Into> extends FlagTable<Into> {
  /** Creates the invocation of a command line without arguments. */
  create(): Into;
  /** Refuses an operand that was meant as something else. `rest` are the arguments after it. */
  checkOperand?(operand: string, rest: string[], isFirst: boolean): void;
  /** Stores the operands, or refuses them. */
  setOperands(into: Into, operands: Operands): void;
}

/** Lists the flags that are described with this command. */
export function ownFlags<Into>({ groups }: FlagTable<Into>): Flag<Into>[] {
  return groups.flatMap(({ flags }) => flags);
}

/** Lists all flags that the command accepts. */
export function acceptedFlags<Into>(table: FlagTable<Into>): Flag<Into>[] {
  return [...ownFlags(table), ...(table.shared ?? [])];
}

/** Turns the arguments of a command into its invocation. */
export function parseInvocation<Into>(
  command: string,
  flags: CommandFlags<Into>,
  args: string[],
): Into {
  const into = flags.create();
  const operands = parseArguments(args, into, { command, ...flags, flags: acceptedFlags(flags) });
  flags.setOperands(into, operands);
  return into;
}
