/** One flag of a command: all that parser, help and reference page know of it. */
export interface Flag<Into> {
  /** Without dashes, as the aliases. */
  name: string;
  short?: string;
  /** Further names, short and long: other tools' habits. */
  aliases?: string[];
  /** What stands for the value in the help; without it the flag is a switch. */
  value?: string;
  repeatable?: boolean;
  group: string;
  /** Listed in `--help` with its line; the others by name only. */
  common?: boolean;
  fallback?: string;
  help: string;
  /** Further sentences, for `help FLAG` and the reference page. */
  details?: string;
  /** Takes the value ('' of a switch); `given` is the flag as it was typed, for messages. */
  set(into: Into, value: string, given: string): void;
  /** What the flag means without a value, if the next argument does not fit. */
  bare?: { unless(next: string): boolean; set(into: Into): void };
}

/** All names of a flag, without dashes. */
export function listNames({ name, short, aliases = [] }: Flag<never>): string[] {
  return [...(short ? [short] : []), name, ...aliases];
}

/** A name as it is typed: `-c`, `--connections`. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/** A flag as the help shows it: `-c, --connections N`. */
export function signature({ name, short, value }: Flag<never>): string {
  const names = short ? `${dashed(short)}, ${dashed(name)}` : dashed(name);
  return value === undefined ? names : `${names} ${value}`;
}
