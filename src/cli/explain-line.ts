import { maskArguments } from '../masking/text.js';
import { shellQuote } from '../process/command/shell-quote.js';
import { acceptedFlags } from './flags/command-flags.js';
import { EXPLAIN } from './flags/explain-flags.js';
import type { Flag } from './flags/flag.js';
import { isBody } from './flags/load/body.js';
import { LOAD, LOAD_FLAGS } from './flags/load/load-flags.js';
import { RESULT_FLAGS } from './flags/load/result-flags.js';
import { parseArguments } from './flags/parse.js';

/**
 * Returns the command line, quoted for a shell, that explains the load of these arguments of `millrace load`; `null`
 * where `explain` does not support such a load. Secrets are masked.
 */
export function explainLine(args: string[]): string | null {
  const words: string[] = [];
  const { positional, command } = parseArguments(args, words, {
    command: 'load',
    flags: RECORDING_FLAGS,
    ...(LOAD.unsupported && { unsupported: LOAD.unsupported }),
  });
  // A rate that changes has no one limit.
  if (words.includes('--stage')) return null;
  const all = [...words, ...positional, ...(command ? ['--', ...command] : [])];
  return ['npx millrace explain', ...maskArguments(all).map(shellQuote)].join(' ');
}

/** Times of a load, which explain chooses by itself. */
const TIMES = ['duration', 'warmup'];

const EXPLAIN_NAMES = new Set(acceptedFlags(EXPLAIN).map(({ name }) => name));

/** The flags of the load. Those that describe the load and that explain has record themselves as they were typed. */
const RECORDING_FLAGS: Flag<string[]>[] = LOAD_FLAGS.map(({ bare, ...flag }) => {
  const isKept =
    !RESULT_FLAGS.some(({ name }) => name === flag.name) &&
    !TIMES.includes(flag.name) &&
    EXPLAIN_NAMES.has(flag.name);
  return {
    ...flag,
    set(words, value, typed) {
      const text = flag.name === 'passphrase' ? '***' : value;
      if (isKept) words.push(typed, ...(flag.value === undefined ? [] : [text]));
      else if (flag.name === 'duration' && isBody(value)) words.push('-b', value);
    },
    // Without a value the flag has its meaning in another tool, which does not concern the load.
    ...(bare && { bare: { unless: bare.unless, set() {} } }),
  };
});
