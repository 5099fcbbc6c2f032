import { setTimeout as sleep } from 'node:timers/promises';
import { hasProcfs, readIds, readStat } from '../procfs/procfs.js';

/**
 * Sends a signal to every process of a group. Returns whether there was one. Windows has no groups: only the first
 * process receives it.
 */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(process.platform === 'win32' ? group : -group, signal);
  } catch {
    return false;
  }
}

/** Ends a process group: SIGTERM, and SIGKILL after the grace period. Resolves when all processes have ended. */
export async function stopGroup(group: number, graceMs = 3000): Promise<void> {
  signalGroup(group, 'SIGTERM');
  if (await isGoneWithin(group, graceMs)) return;
  signalGroup(group, 'SIGKILL');
  await isGoneWithin(group, graceMs);
}

async function isGoneWithin(group: number, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (isAlive(group)) {
    if (performance.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}

/**
 * Whether a process of the group runs. For kill(2) a zombie still counts. A process whose first thread is a zombie has its
 * descriptors, listening sockets among them, until its other threads have ended.
 */
function isAlive(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (!hasProcfs) return true;
  return readIds('/proc').some((pid) => {
    const stat = readStat(`/proc/${pid}`);
    return stat !== null && stat.group === group && hasRunningThread(pid);
  });
}

function hasRunningThread(pid: number): boolean {
  return readIds(`/proc/${pid}/task`).some((thread) => {
    const state = readStat(`/proc/${pid}/task/${thread}`)?.state ?? 'X';
    return !'ZX'.includes(state);
  });
}
