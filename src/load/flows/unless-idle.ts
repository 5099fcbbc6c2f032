import { usageError } from '../../errors/millrace-error.js';

/**
 * Waits for a promise of a user's code; rejects if the process has nothing more to do before it is settled. Otherwise the
 * process would end without a word.
 */
export async function unlessIdle<Value>(promise: Promise<Value>, message: string): Promise<Value> {
  let giveUp = () => {};
  const idle = new Promise<never>((_, reject) => {
    giveUp = () => reject(usageError(message));
  });
  process.once('beforeExit', giveUp);
  try {
    return await Promise.race([promise, idle]);
  } finally {
    process.off('beforeExit', giveUp);
  }
}
