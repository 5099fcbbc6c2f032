// Reads the resident memory of a process from Linux (proc(5)).
import { readFileSync, writeFileSync } from 'node:fs';
import { listDescendants } from '../harness/proc.js';

/** Reads a line of /proc/<pid>/status in kB: `VmRSS`, the resident memory, or `VmHWM`, its peak. */
export function memoryKb(pid, key) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)[1]);
}

/** Resets `VmHWM` to the present resident memory (clear_refs). */
export function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export const mib = (kb) => (kb / 1024).toFixed(1);

/** Reads the resident memory of a process and its descendants in kB. */
export function readTreeKb(pid) {
  const pids = [pid, ...listDescendants(pid)];
  return pids.reduce((sum, one) => sum + memoryKb(one, 'VmRSS'), 0);
}
