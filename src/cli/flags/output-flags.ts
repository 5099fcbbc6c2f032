// The flags of every command that gives a result: how and where it is written.
import { usageError } from '../../errors/millrace-error.js';
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
  /** Files for the result in other formats; `-` is stdout, which then has no report. */
  markdown?: string;
  csv?: string;
  series?: string;
  junit?: string;
  hdr?: string;
  /** Whether the progress is shown on stderr. */
  progress: boolean;
}

/** Returns the options of a command line without flags. */
export function newOutputOptions(): OutputOptions {
  return { json: false, progress: true };
}

const { text, toggle } = storeIn((invocation: OutputOptions) => invocation);

export const HTML: Flag<OutputOptions> = {
  name: 'html',
  value: 'FILE',
  common: true,
  help: 'write the result as a page with plots',
  set(invocation, value, flag) {
    if (value === '-') throw mustBe(flag, 'the name of a file', value);
    invocation.html = value;
  },
};

export const MARKDOWN: Flag<OutputOptions> = text('markdown', 'markdown', {
  value: 'FILE',
  help: 'write the result as Markdown, for a pull request',
  details: '- is standard output, which then has no report. $GITHUB_STEP_SUMMARY is appended to.',
});

export const CSV: Flag<OutputOptions> = text('csv', 'csv', {
  value: 'FILE',
  help: 'write the figures as CSV',
  details:
    'The first line has the names of the columns. Of a load: a row for all requests, whose name is empty, and one for each request name; times in milliseconds, rates per second. Of a comparison: a row for each metric, overall and by name. Of capacity: a row for each number of connections or block. - is standard output, which then has no report.',
});

export const SERIES: Flag<OutputOptions> = text('series', 'series', {
  value: 'FILE',
  help: 'write the figures of a load over time as CSV',
  details:
    "A row for each window of 100 ms, of longer ones in a run of more than an hour: responses, errors, p50 and p99 in milliseconds, and the server's CPU in cores and memory in MB. - is standard output, which then has no report.",
});

/** Refuses `--junit` without a condition. */
export function checkJunit({ junit }: OutputOptions, conditions: readonly unknown[]): void {
  if (junit === undefined || conditions.length > 0) return;
  throw usageError('--junit needs --fail-on: each condition is a case');
}

export const JUNIT: Flag<OutputOptions> = text('junit', 'junit', {
  value: 'FILE',
  help: "write the conditions of --fail-on as JUnit's XML",
  details:
    'Each condition is a case. With --fail-on. - is standard output, which then has no report.',
});

export const HDR: Flag<OutputOptions> = text('hdr', 'hdr', {
  value: 'FILE',
  help: 'write the percentiles of a load as .hgrm',
  details: 'Latencies in milliseconds. - is standard output.',
});

/** Formats that -o names in hey, oha and others, and how they are asked for here. */
const FORMAT_FLAGS: Record<string, string> = {
  csv: 'CSV is --csv FILE, or --csv -',
  json: 'JSON on standard output is --json',
  html: 'a page is --html FILE',
  ...{ markdown: 'Markdown is --markdown FILE', md: 'Markdown is --markdown FILE' },
  ...{ junit: "JUnit's XML is --junit FILE", xml: "JUnit's XML is --junit FILE" },
  ...{ text: 'the report is text', plain: 'the report is text', quiet: 'no report is --json' },
};

/** Refuses the name of a format where a file is expected, as in hey's `-o csv`: nobody wants a file of that name. */
function refuseFormatName(value: string, flag: string): string {
  const key = value.toLowerCase();
  if (!Object.hasOwn(FORMAT_FLAGS, key)) return value;
  throw usageError(
    `${flag} takes a file, which gets JSON (got ${value}): ${FORMAT_FLAGS[key]}; a file of that name is ${flag} ./${value}`,
  );
}

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
    details:
      'In addition to the report. - is standard output: the same as --json. With --segment {segment} is the number of the share, in this name and those of other outputs.',
    set(invocation, value, flag) {
      if (value === '-') invocation.json = true;
      else invocation.output = refuseFormatName(value, flag);
    },
  },
  HTML,
  MARKDOWN,
];

export const NO_PROGRESS: Flag<OutputOptions> = toggle('no-progress', 'progress', false, {
  aliases: ['no-tui', 'quiet'],
  help: 'no progress on stderr',
});
