/** A flag of a command: everything that the parser, the help and the reference page know about it. */
export interface Flag<Into> {
  /** Without dashes, like the aliases. */
  name: string;
  short?: string;
  /** Further names, short and long, as other tools have them. */
  aliases?: string[];
  /** The placeholder of the value in the help. A flag without one is a switch. */
  value?: string;
  repeatable?: boolean;
  /** Whether `millrace --help` describes the flag in a line. It lists the others by name. */
  common?: boolean;
  /** The default in words. */
  fallback?: string;
  help: string;
  /** Further sentences for `help FLAG` and the reference page. */
  details?: string;
  /** Stores the value (`''` of a switch). `flag` is the flag as it was typed, for messages. */
  set(into: Into, value: string, flag: string): void;
  /** The meaning of the short flag without a value. It has no value if `unless` returns true for the next argument. */
  bare?: { unless(next: string): boolean; set(into: Into): void };
}

/** Flags under a heading of the reference page. */
export interface FlagGroup<Into> {
  title: string;
  flags: readonly Flag<Into>[];
}

/** Lists all names of a flag, without dashes. */
export function listNames({ name, short, aliases = [] }: Flag<never>): string[] {
  return [...(short ? [short] : []), name, ...aliases];
}

/** Adds the dashes to a name: `-c`, `--connections`. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/** Formats the main name of a flag: `--connections`. */
export function mainName({ name }: Flag<never>): string {
  return `--${name}`;
}

/** Formats a flag as the help shows it: `-c, --connections N`. */
export function signature(flag: Flag<never>): string {
  const { short, value } = flag;
  const names = short ? `${dashed(short)}, ${mainName(flag)}` : mainName(flag);
  return value === undefined ? names : `${names} ${value}`;
}
