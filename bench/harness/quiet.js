// Other processes on the machine: waits for them to end, and repeats runs that they disturbed.
import { setTimeout as delay } from 'node:timers/promises';
import { formatShare } from '../documents/table.js';
import { readMachineBusySeconds } from './proc.js';
import { computeMedian } from './statistics.js';

/** Default share of a core that other processes, including the harness, may use before a run is repeated. */
const QUIET = 0.1;
/** Maximum wait for other processes before a run is repeated. */
const PATIENCE_MS = 10_000;

/** Calls `once`, and again if it fails. */
export async function retry(once) {
  try {
    return await once();
  } catch {
    return once();
  }
}

/**
 * Calls `once` until no other process disturbed it, at most `maxAttempts` times. Returns the least disturbed
 * outcome with the number of `attempts`. Whether to repeat does not depend on the measured values.
 */
export async function repeatUntilUndisturbed(once, maxAttempts, quiet = QUIET) {
  let best = await once();
  let attempts = 1;
  for (; attempts < maxAttempts && best.others > quiet; attempts++) {
    await waitUntilQuiet();
    const again = await once();
    if (again.others < best.others) best = again;
  }
  return { ...best, attempts };
}

async function waitUntilQuiet() {
  const deadline = performance.now() + PATIENCE_MS;
  let busy = Infinity;
  while (busy > QUIET && performance.now() < deadline) {
    const [seconds, ms] = [readMachineBusySeconds(), performance.now()];
    await delay(1000);
    busy = (readMachineBusySeconds() - seconds) / ((performance.now() - ms) / 1000);
  }
}

/** Formats how much other processes used. */
export function formatDisturbance(runs, quiet = QUIET) {
  const shares = runs.map(({ others }) => others);
  const highest = Math.max(...shares);
  const repeated = runs.filter(({ attempts }) => attempts > 1).length;
  return [
    `- other processes, the harness among them, used ${formatShare(computeMedian(shares))} of a core, at most ${formatShare(highest)}`,
    `${repeated} of ${runs.length} runs were repeated for that`,
    ...(highest > quiet
      ? ['**other processes disturbed the runs: these figures are doubtful**']
      : []),
  ].join('; ');
}
