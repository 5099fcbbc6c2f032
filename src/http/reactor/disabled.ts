import { writeSync } from 'node:fs';
import { fromEnvironment } from '../../environment/variables.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { loadNative } from '../../native/addon.js';
import { nodeCluster } from '../node/node-cluster.js';

/** The process that has said so: in the environment, as threads and a cluster's workers inherit it. */
const SAID_BY = 'MILLRACE_OFF_SAID_BY';

/** Why servers are on Node's own stack, whichever way this one is asked for; `null`: they are not. */
export const isTurnedOff = fromEnvironment(wantsNodes);
export const offBecause = isTurnedOff ? 'MILLRACE_STACK=node turns it off' : lackOfAddon();
export const isOff = offBecause !== null;

function wantsNodes(): boolean {
  const value = process.env.MILLRACE_STACK ?? '';
  if (value === '' || value === 'node') return value === 'node';
  throw usageError(`MILLRACE_STACK must be node, which turns the stack off (got '${value}')`);
}

function lackOfAddon(): string | null {
  try {
    loadNative();
    return null;
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    sayOnce(`millrace: this process runs on Node's own HTTP code: ${error.message}\n`);
    return error.message;
  }
}

/** Writes a line to standard error, once for a process, its threads and the workers of its cluster. */
function sayOnce(line: string): void {
  const by = Number(process.env[SAID_BY]);
  process.env[SAID_BY] = String(process.pid);
  if (by === process.pid) return;
  if (by === process.ppid && nodeCluster().isWorker) return;
  try {
    writeSync(2, line);
  } catch {
    // The application goes on where nothing can be written.
  }
}
