import { readText } from './procfs.js';

/** The cores that a process may run on, by number; `null` if it is gone. */
export function coresAllowed(pid: number): number[] | null {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return list === undefined ? null : coresIn(list);
}

/** The cores in a list like `0-3,8`. */
export function coresIn(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
