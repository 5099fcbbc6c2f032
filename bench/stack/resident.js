// Resident memory of a process, as Linux tells it (proc(5)).
import { readFileSync, writeFileSync } from 'node:fs';

/** A line of /proc/<pid>/status: `VmRSS`, resident now, or `VmHWM`, the peak of that. */
export function memoryKb(pid, key) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)[1]);
}

/** From here on `VmHWM` is the peak since now (clear_refs). */
export function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export const mib = (kb) => (kb / 1024).toFixed(1);
