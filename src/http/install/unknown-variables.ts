import { writeSync } from 'node:fs';
import { findNearest } from '../../validation/nearest.js';
import { nodeCluster } from '../node/node-cluster.js';

const PREFIX = 'MILLRACE_';

/** Names of the stack's variables, without the prefix. */
const NAMES = [
  ...['CACHE_DURATION', 'HTTP2', 'PORTS', 'RESPONSE_TIMEOUT', 'RESPONSE_TIMEOUT_STATUS'],
  ...['STACK', 'STATS_FILE'],
];

/** Other words for what a variable is about, which are not similar to its name. */
const OTHER_WORDS = new Map([
  ['H2', 'HTTP2'],
  ['H2C', 'HTTP2'],
]);

/**
 * Warns of variables that are probably misspelled, once for a process with its threads and the workers of its cluster. Other
 * parts of the package and applications have variables with the same prefix: only a name that is nearly one of these is reported.
 */
function warnOfMisspelledVariables(): void {
  for (const variable of Object.keys(process.env)) {
    if (!variable.startsWith(PREFIX)) continue;
    const name = variable.slice(PREFIX.length);
    const near = NAMES.includes(name) ? undefined : findIntended(name);
    if (near === undefined) continue;
    if (!isFirst()) return;
    const line = `millrace: ${variable} is an unknown variable; did you mean ${PREFIX}${near}?\n`;
    try {
      writeSync(2, line);
    } catch {
      // The application goes on without the warning.
    }
  }
}

/** Finds the name that was probably meant: one that differs little, of which this is the beginning, or another word for it. */
function findIntended(name: string): string | undefined {
  const near = findNearest(name, NAMES) ?? NAMES.find((known) => known.startsWith(`${name}_`));
  return near ?? OTHER_WORDS.get(name);
}

/** Whether this is neither another thread nor a worker of a cluster. */
function isFirst(): boolean {
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  return isMainThread && !nodeCluster().isWorker;
}

warnOfMisspelledVariables();
