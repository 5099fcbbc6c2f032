import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether this system has Linux's `/proc`, and this process may read it (Node's permission model). */
export const hasProcfs = process.platform === 'linux' && canRead('/proc/self/task');

function canRead(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
}

/** Reads a file under `/proc`; `null` if it does not exist (processes end at any time) or cannot be read. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The numbers among the names in a folder under `/proc`: process ids, thread ids or descriptors. */
export function readIds(path: string): number[] {
  try {
    return readdirSync(path).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Fields of `stat` of a process or a thread, see proc_pid_stat(5). */
export interface Stat {
  state: string;
  parent: number;
  group: number;
  /** Page faults of the whole process that waited for the disk. */
  majorFaults: number;
  /** User and system time in clock ticks. */
  ticks: number;
  /** The same for ended children that have been waited for, including their own children. */
  childTicks: number;
  /** Resident memory in pages. */
  rssPages: number;
}

/** Reads `/proc/P/stat` or `/proc/P/task/T/stat`; `null` if the process or thread has ended. */
export function readStat(folder: string): Stat | null {
  const text = readText(`${folder}/stat`);
  return text === null ? null : parseStat(text);
}

export function parseStat(text: string): Stat {
  // The name is in parentheses, and may contain spaces and parentheses.
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

/** Size of a memory page in bytes, the unit of `statm`. */
export const pageSize = readAuxiliaryValue(AT_PAGESZ) ?? 4096;
/** Clock ticks per second, the unit of the times in `stat`. */
export const ticksPerSecond = readAuxiliaryValue(AT_CLKTCK) ?? 100;

/** Reads a value of the auxiliary vector, see getauxval(3): pairs of machine words. */
function readAuxiliaryValue(key: number): number | undefined {
  try {
    const bytes = readFileSync('/proc/self/auxv');
    const words = new BigUint64Array(new Uint8Array(bytes).buffer);
    const at = words.findIndex((word, index) => index % 2 === 0 && word === BigInt(key));
    return at < 0 ? undefined : Number(words[at + 1]);
  } catch {
    return undefined;
  }
}
