import { EXIT } from '../exit.js';
import { printMessage } from './print.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `first` at the first Ctrl-C (or SIGTERM, SIGHUP); the second ends this process at once.
 * Returns a function that removes the listeners.
 */
export function onInterrupt(first: () => void): () => void {
  let isInterrupted = false;
  const onSignal = () => {
    // Not by the signal: the exit handlers kill the server that was started.
    if (isInterrupted) process.exit(EXIT.interrupted);
    isInterrupted = true;
    first();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/**
 * Calls `run` with a signal that aborts at the first interrupt, and resolves with the exit code. If `run` has no result
 * by then and rejects with the signal's reason, prints "interrupted before" and the text of `before`.
 */
export async function runInterruptible(
  before: string,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const abort = new AbortController();
  const removeListeners = onInterrupt(() => abort.abort());
  try {
    return await run(abort.signal);
  } catch (error) {
    if (error !== abort.signal.reason) throw error;
    printMessage(`interrupted before ${before}`);
    return EXIT.interrupted;
  } finally {
    removeListeners();
  }
}
