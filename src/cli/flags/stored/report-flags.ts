import { usageError } from '../../../errors/millrace-error.js';
import type { CommandFlags } from '../command-flags.js';
import {
  CSV,
  HDR,
  HTML,
  JUNIT,
  MARKDOWN,
  newOutputOptions,
  type OutputOptions,
  SERIES,
} from '../output-flags.js';

/** What the flags and operands of `millrace report` stand for. */
export interface ReportInvocation extends OutputOptions {
  /** Files with results. */
  files: string[];
}

const NEEDS_FILE =
  'report needs a result, as -o FILE of load, compare, explain, capacity or lab writes it: millrace report FILE...';

/** The flags of `millrace report`. */
export const REPORT: CommandFlags<ReportInvocation> = {
  groups: [
    {
      title: 'millrace report',
      flags: [HTML, MARKDOWN, CSV, SERIES, JUNIT, HDR],
    },
  ],
  alternatives: {
    json: 'the files are the JSON',
    output: 'the files are the JSON; others are --html, --markdown, --csv, --junit and --hdr',
    'fail-on': 'conditions are those of the run; --junit writes them',
  },
  create: () => ({ ...newOutputOptions(), files: [] }),
  setOperands(invocation, { positional, command }) {
    invocation.files = [...positional, ...(command ?? [])];
    if (invocation.files.length === 0) throw usageError(NEEDS_FILE);
  },
};
