import type { CommandFlags } from '../command-flags.js';
import { type Flag, listNames } from '../flag.js';
import { FOREIGN_FLAGS } from '../foreign-flags.js';
import type { UnsupportedFlags } from '../parse.js';
import type { Invocation } from './invocation.js';
import { LOAD_ALTERNATIVES, LOAD_FLAGS } from './load-flags.js';
import { checkUrlOperand, setTarget } from './target.js';

/** The part of the flags of a command that it has from `millrace load`. */
type SharedPart = Required<
  Pick<
    CommandFlags<Invocation>,
    'shared' | 'unsupported' | 'alternatives' | 'checkOperand' | 'setOperands'
  >
>;

/**
 * Derives that part for a command that sends loads. It shares the flags of `millrace load` except those that its own
 * flags replace and those that it does not support. `unsupported` is the advice about the latter, by their main names.
 */
export function shareLoadFlags<Into extends Invocation>(
  own: readonly Flag<Into>[],
  unsupported: UnsupportedFlags,
): SharedPart {
  const isReplaced = (name: string) => own.some((flag) => flag.name === name);
  const refused = LOAD_FLAGS.flatMap((flag) => {
    const advice = unsupported[flag.name];
    return advice === undefined ? [] : listNames(flag).map((name) => [name, advice] as const);
  });
  return {
    shared: LOAD_FLAGS.filter(({ name }) => !(name in unsupported) && !isReplaced(name)),
    unsupported: { ...FOREIGN_FLAGS, ...Object.fromEntries(refused) },
    alternatives: LOAD_ALTERNATIVES,
    checkOperand: checkUrlOperand,
    setOperands: setTarget,
  };
}
