import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether this system tells about processes under `/proc` the way Linux does. */
export const hasProcfs = process.platform === 'linux' && existsSync('/proc/self/task');

/** The text of a file under `/proc`; `null` if it is gone (processes end at any moment) or may not be read. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The numbers among the names in a folder under `/proc`: pids, thread ids or descriptors. */
export function readIds(path: string): number[] {
  try {
    return readdirSync(path).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** What `stat` says of a process or a thread, see proc_pid_stat(5). */
export interface Stat {
  state: string;
  parent: number;
  group: number;
  /** Faults of the whole process that had to wait for the disk. */
  majorFaults: number;
  /** User and system time in clock ticks. */
  ticks: number;
  /** The same of its children that have ended and been waited for, with theirs. */
  childTicks: number;
  /** Resident memory in pages. */
  rssPages: number;
}

/** Reads `/proc/P/stat` or `/proc/P/task/T/stat`; `null` if it is gone. */
export function readStat(folder: string): Stat | null {
  const text = readText(`${folder}/stat`);
  return text === null ? null : parseStat(text);
}

export function parseStat(text: string): Stat {
  // The name stands in parentheses and may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    majorFaults: Number(fields[9]),
    ticks: Number(fields[11]) + Number(fields[12]),
    childTicks: Number(fields[13]) + Number(fields[14]),
    rssPages: Number(fields[21]),
  };
}

const AT_PAGESZ = 6;
const AT_CLKTCK = 17;

/** Bytes of a page of memory, the unit of `statm`. */
export const pageSize = auxiliaryValue(AT_PAGESZ) ?? 4096;
/** Clock ticks per second, the unit of the times in `stat`. */
export const ticksPerSecond = auxiliaryValue(AT_CLKTCK) ?? 100;

/** What the kernel handed to this process under a key, see getauxval(3): pairs of machine words. */
function auxiliaryValue(key: number): number | undefined {
  try {
    const bytes = readFileSync('/proc/self/auxv');
    const words = new BigUint64Array(new Uint8Array(bytes).buffer);
    const at = words.findIndex((word, index) => index % 2 === 0 && word === BigInt(key));
    return at < 0 ? undefined : Number(words[at + 1]);
  } catch {
    return undefined;
  }
}
