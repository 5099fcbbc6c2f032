import { maskArguments } from '../masking/text.js';
import { shellQuote } from '../process/command/shell-quote.js';
import { EXPLAIN_FLAGS } from './flags/explain-flags.js';
import type { Flag } from './flags/flag.js';
import { UNSUPPORTED_FLAGS } from './flags/foreign-flags.js';
import { isBody, LOAD_FLAGS, RESULT } from './flags/load-flags.js';
import { parseArguments } from './flags/parse.js';

/**
 * The command line that explains the load which these arguments of `millrace load` ask for, as it is typed in a shell;
 * `null` where `explain` does not take such a load. Secrets are masked.
 */
export function explainLine(args: string[]): string | null {
  const words: string[] = [];
  const { positional, command } = parseArguments(args, RECORDING, words, UNSUPPORTED_FLAGS);
  // A rate that changes has no one limit.
  if (words.includes('--stage')) return null;
  const all = [...words, ...positional, ...(command ? ['--', ...command] : [])];
  return ['npx millrace explain', ...maskArguments(all).map(shellQuote)].join(' ');
}

/** Times of a load are none that explain needs to be given. */
const CHOSEN = ['duration', 'warmup'];

/** What is set is written down as it was given, if it belongs to the load and `explain` takes it. */
const RECORDING: Flag<string[]>[] = LOAD_FLAGS.map(({ bare, ...flag }) => {
  const isTaken =
    flag.group !== RESULT &&
    !CHOSEN.includes(flag.name) &&
    EXPLAIN_FLAGS.some(({ name }) => name === flag.name);
  return {
    ...flag,
    set(words, value, given) {
      const shown = flag.name === 'passphrase' ? '***' : value;
      if (isTaken) words.push(given, ...(flag.value === undefined ? [] : [shown]));
      else if (flag.name === 'duration' && isBody(value)) words.push('-b', value);
    },
    // Without a value it is a habit from another tool, and no part of the load.
    ...(bare && { bare: { unless: bare.unless, set() {} } }),
  };
});
