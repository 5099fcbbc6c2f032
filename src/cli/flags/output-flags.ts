// The flags of every command that gives a result: how and where it is written.
import { mustBe } from '../../validation/shape.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';

/** How and where a result is written. */
export interface OutputOptions {
  /** Whether stdout gets the result as JSON, and no report. */
  json: boolean;
  /** File for the result as JSON. */
  output?: string;
  /** File for the result as a page. */
  html?: string;
  /** Whether the progress is shown on stderr. */
  progress: boolean;
}

/** Returns the options of a command line without flags. */
export function newOutputOptions(): OutputOptions {
  return { json: false, progress: true };
}

const { toggle } = storeIn((invocation: OutputOptions) => invocation);

export const OUTPUT_FLAGS: readonly Flag<OutputOptions>[] = [
  toggle('json', 'json', true, {
    short: 'j',
    common: true,
    help: 'print the result as JSON, and nothing else',
  }),
  {
    name: 'output',
    short: 'o',
    value: 'FILE',
    common: true,
    help: 'write the result as JSON to a file',
    details: 'In addition to the report. - is standard output: the same as --json.',
    set(invocation, value) {
      if (value === '-') invocation.json = true;
      else invocation.output = value;
    },
  },
  {
    name: 'html',
    value: 'FILE',
    common: true,
    help: 'write the result as a page with plots',
    set(invocation, value, flag) {
      if (value === '-') throw mustBe(flag, 'the name of a file', value);
      invocation.html = value;
    },
  },
];

export const NO_PROGRESS: Flag<OutputOptions> = toggle('no-progress', 'progress', false, {
  aliases: ['no-tui'],
  help: 'no progress on stderr',
});
