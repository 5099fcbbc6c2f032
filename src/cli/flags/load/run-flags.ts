import { usageError } from '../../../errors/millrace-error.js';
import type { CommandFlags } from '../command-flags.js';
import type { Invocation } from './invocation.js';
import { LOAD, LOAD_FLAGS } from './load-flags.js';
import { checkUrlOperand } from './target.js';

/** The flags of `millrace run`: those of `millrace load`, with a file of scenarios before the URL. */
export const RUN: CommandFlags<Invocation> = {
  ...LOAD,
  groups: [],
  shared: LOAD_FLAGS,
  checkOperand(operand, rest, isFirst) {
    if (!isFirst) checkUrlOperand(operand, rest, false);
  },
  setOperands(invocation, operands) {
    const [file, ...positional] = operands.positional;
    if (file === undefined) {
      throw usageError(
        'run needs a file of scenarios: millrace run checkout.mjs http://localhost:3000',
      );
    }
    if (/^https?:\/\//i.test(file)) {
      throw usageError(`run needs a file of scenarios before the URL (got '${file}')`);
    }
    invocation.options.scenario = file;
    LOAD.setOperands(invocation, { ...operands, positional });
  },
};
