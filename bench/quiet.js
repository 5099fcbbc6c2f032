// What else runs on the machine: waiting for it to end, and repeating what it disturbed.
import { setTimeout as delay } from 'node:timers/promises';
import { readMachineBusySeconds } from './proc.js';
import { computeMedian } from './statistics.js';
import { formatShare } from './table.js';

/** What others may use of a core, the harness included, before a run is repeated, if a case does not say. */
const QUIET = 0.1;
/** How long to wait for others before a run is repeated. */
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
 * Calls `once` until nothing else ran meanwhile, at most `most` times, and gives the least disturbed
 * outcome with the number of `attempts`. Whether to repeat does not depend on what was measured.
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

/** The line that says how quiet the machine was. */
export function formatDisturbance(runs, quiet = QUIET) {
  const shares = runs.map(({ others }) => others);
  const highest = Math.max(...shares);
  const repeated = runs.filter(({ attempts }) => attempts > 1).length;
  return [
    `- other processes, the harness among them, used ${formatShare(computeMedian(shares))} of a core, at most ${formatShare(highest)}`,
    `${repeated} of ${runs.length} runs were repeated for that`,
    ...(highest > quiet ? ['**the machine was not quiet, these figures are doubtful**'] : []),
  ].join('; ');
}
