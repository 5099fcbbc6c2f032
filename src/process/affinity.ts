import { readText } from './procfs.js';

/** Number of cores that a process may run on; `null` if it is gone. */
export function coresAllowed(pid: number): number | null {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return list === undefined ? null : countCores(list);
}

/** Number of cores in a list like `0-3,8`. */
export function countCores(list: string): number {
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + last - first + 1;
  }, 0);
}
