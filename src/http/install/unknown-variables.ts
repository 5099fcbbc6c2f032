import cluster from 'node:cluster';
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { findNearest } from '../../validation/nearest.js';

const PREFIX = 'MILLRACE_';

/** Names of the stack's variables, without the prefix. */
const NAMES = [
  ...['CACHE_DURATION', 'PORTS', 'RESPONSE_TIMEOUT', 'RESPONSE_TIMEOUT_STATUS'],
  ...['STACK', 'STATS_FILE'],
];

/**
 * Warns of variables that are probably misspelled, once for a process with its threads and the workers of its cluster. Other
 * parts of the package and applications have variables with the same prefix: only a name that is nearly one of these is reported.
 */
function warnOfMisspelledVariables(): void {
  if (!isMainThread || cluster.isWorker) return;
  for (const variable of Object.keys(process.env)) {
    if (!variable.startsWith(PREFIX)) continue;
    const name = variable.slice(PREFIX.length);
    const near = NAMES.includes(name) ? undefined : findNearest(name, NAMES);
    if (near === undefined) continue;
    const line = `millrace: ${variable} is an unknown variable; did you mean ${PREFIX}${near}?\n`;
    try {
      writeSync(2, line);
    } catch {
      // The application goes on without the warning.
    }
  }
}

warnOfMisspelledVariables();
