import { readText } from './procfs.js';

/** The cores on which a process may run, by number; `null` if it has ended. */
export function readAllowedCores(pid: number): number[] | null {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return list === undefined ? null : parseCoreList(list);
}

/** Parses a list of cores such as `0-3,8`. */
export function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
