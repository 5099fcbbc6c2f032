// Standard input, which can be read once: who asks for it a second time would get nothing, and not know it.
import { readFileSync } from 'node:fs';
import { usageError } from '../errors/millrace-error.js';

/** Reports whether a path stands for standard input. */
export function isStandardInput(path: string): boolean {
  return /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(path);
}

/** What has been read, and for what. */
let known: { bytes: Buffer; what: string } | null = null;

/**
 * Reads standard input to its end. `what` names its purpose: for the same one its content is returned again, as a plan is
 * built a second time when a command's port is known; for another one, and with `once`, it is refused.
 */
export function readStandardInput(what: string, { once = false } = {}): Buffer {
  if (known && (once || known.what !== what)) throw readTwiceError([known.what, what]);
  known ??= { what, bytes: readFileSync(0) };
  return known.bytes;
}

/** Refuses paths of which more than one stands for standard input. */
export function refuseSecondInput(paths: readonly string[]): void {
  const asking = paths.filter(isStandardInput);
  if (asking.length > 1) throw readTwiceError(asking.map((path) => `'${path}'`));
}

function readTwiceError(uses: readonly string[]): Error {
  const asked = new Set(uses).size > 1 ? uses.join(' and ') : `${uses[0]}, twice,`;
  return usageError(
    `standard input can be read once (asked for by ${asked}): use a file for one of them`,
  );
}
