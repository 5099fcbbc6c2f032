import { usageError } from '../../errors/millrace-error.js';
import type { CommandFlags } from './command-flags.js';
import { storeIn } from './kinds.js';
import { NO_PROGRESS, newOutputOptions, OUTPUT_FLAGS, type OutputOptions } from './output-flags.js';

/** A parsed command line of `millrace lab`. */
export interface LabInvocation extends OutputOptions {
  /** Names of studies, or `all`. */
  studies: string[];
  quick: boolean;
}

const { toggle } = storeIn((invocation: LabInvocation) => invocation);

/** The flags of `millrace lab`. */
export const LAB: CommandFlags<LabInvocation> = {
  groups: [
    {
      title: 'millrace lab',
      flags: [
        toggle('quick', 'quick', true, {
          short: 'q',
          help: 'less than a minute for each study',
          details: 'Shorter runs, and fewer of them: their figures swing more.',
        }),
        ...OUTPUT_FLAGS,
        NO_PROGRESS,
      ],
    },
  ],
  alternatives: { duration: 'less time is --quick', budget: 'less time is --quick' },
  epilogue: 'millrace lab lists the studies.',
  create: () => ({ ...newOutputOptions(), studies: [], quick: false }),
  setOperands(invocation, { positional, command }) {
    if (command) throw usageError('-- given; lab starts the services of its studies itself');
    invocation.studies = positional;
  },
};
