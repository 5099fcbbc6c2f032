import { usageError } from '../../../errors/millrace-error.js';
import type { Condition } from '../../../load/plan/condition.js';
import type { CommandFlags } from '../command-flags.js';
import { storeIn } from '../kinds.js';
import { FAIL_ON, STRICT } from '../load/result-flags.js';
import {
  CSV,
  HDR,
  JUNIT,
  newOutputOptions,
  OUTPUT_FLAGS,
  type OutputOptions,
  SERIES,
} from '../output-flags.js';

/** What the flags and operands of `millrace merge` stand for. */
export interface MergeInvocation extends OutputOptions {
  /** Files with results of loads, each perhaps a pattern. */
  files: string[];
  failOn: Condition[];
  strict: boolean;
  allowDifference: boolean;
  allowMissing: boolean;
}

const { toggle } = storeIn((invocation: MergeInvocation) => invocation);

/** The flags of `millrace merge`. */
export const MERGE: CommandFlags<MergeInvocation> = {
  groups: [
    {
      title: 'millrace merge',
      flags: [
        toggle('allow-difference', 'allowDifference', true, {
          help: 'merge though the plans differ',
          details: 'The report repeats the differences.',
        }),
        toggle('allow-missing', 'allowMissing', true, {
          help: 'merge though shares of the run are missing',
          details: 'The report lists them. The plan is then that of the shares that are there.',
        }),
        ...OUTPUT_FLAGS,
        CSV,
        SERIES,
        JUNIT,
        HDR,
        STRICT,
        {
          ...FAIL_ON,
          details:
            'Judged once, on the whole; without it the conditions of the results are. As in millrace load.',
        },
      ],
    },
  ],
  alternatives: {
    'no-progress': 'merge shows no progress',
    baseline: 'millrace compare OLD.json MERGED.json',
    'abort-on-fail': 'the runs have ended; conditions are judged on the whole',
  },
  create: () => ({
    ...newOutputOptions(),
    ...{ files: [], failOn: [], strict: false, allowDifference: false, allowMissing: false },
  }),
  setOperands(invocation, { positional, command }) {
    invocation.files = [...positional, ...(command ?? [])];
    if (invocation.files.length > 0) return;
    throw usageError(
      'merge needs results of loads, as -o FILE of load or run writes them: millrace merge FILE...',
    );
  },
};
