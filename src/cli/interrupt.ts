import { EXIT } from './exit.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `first` at the first Ctrl-C (or SIGTERM, SIGHUP); the second ends this process at once.
 * Returns how to listen no longer.
 */
export function onInterrupt(first: () => void): () => void {
  let seen = false;
  const onSignal = () => {
    // Not by the signal: the exit handlers kill the server that was started.
    if (seen) process.exit(EXIT.interrupted);
    seen = true;
    first();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}
