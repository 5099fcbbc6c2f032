import { usageError } from '../../../errors/millrace-error.js';
import type { CommandFlags } from '../command-flags.js';
import { newOutputOptions, OUTPUT_FLAGS, type OutputOptions } from '../output-flags.js';

/** A parsed command line of `millrace history`. */
export interface HistoryInvocation extends OutputOptions {
  /** The folder with the results. */
  folder: string;
}

const NEEDS_FOLDER =
  'history needs a folder with results of loads, as -o FILE writes them: millrace history DIR';

/** The flags of `millrace history`. */
export const HISTORY: CommandFlags<HistoryInvocation> = {
  groups: [{ title: 'millrace history', flags: OUTPUT_FLAGS }],
  alternatives: {
    csv: 'the figures are in the JSON: --json',
    'fail-on': 'conditions are those of a run; two versions are judged by millrace compare OLD NEW',
  },
  epilogue: 'Files *.json of DIR and of the folders in it are read.',
  create: () => ({ ...newOutputOptions(), folder: '' }),
  setOperands(invocation, { positional, command }) {
    const [folder, ...others] = [...positional, ...(command ?? [])];
    if (folder === undefined || folder === '') throw usageError(NEEDS_FOLDER);
    if (others.length > 0) {
      throw usageError(`history takes one folder (got ${others.length + 1})`);
    }
    invocation.folder = folder;
  },
};
