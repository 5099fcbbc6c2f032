import { usageError } from '../../../errors/millrace-error.js';
import { mustBe } from '../../../validation/shape.js';
import type { LoadOptions } from '../../options.js';

/** The share of a run that this one is: the `index`-th of `count`, from 1 on. */
export interface Segment {
  index: number;
  count: number;
}

/** The largest number of shares. */
export const MAX_SEGMENTS = 2 ** 20;

/** Variables that name a process's rank, counted from 0, and the number of processes, by who sets them. */
const RANKS = [
  { rank: 'JOB_COMPLETION_INDEX', size: 'MILLRACE_SEGMENTS' },
  { rank: 'OMPI_COMM_WORLD_RANK', size: 'OMPI_COMM_WORLD_SIZE' },
  { rank: 'PMI_RANK', size: 'PMI_SIZE' },
  { rank: 'SLURM_PROCID', size: 'SLURM_NTASKS' },
] as const;

/** Reads the option `segment`; `null` without one. */
export function readSegment(options: LoadOptions): Segment | null {
  const { segment: text, command, seed } = options;
  if (text === undefined) return null;
  const segment = text === 'auto' ? readRank(process.env) : parseSegment(text, 'segment');
  if (seed === undefined) {
    throw usageError('segment needs seed (--seed N), the same for all shares of a run');
  }
  if (command !== undefined) {
    throw usageError(
      'segment cannot be combined with a command: each share would start a server of its own',
    );
  }
  return segment;
}

/** Parses `I/N`, the I-th of N shares. */
export function parseSegment(text: string, name: string): Segment {
  const [, first, second] = /^\s*(\d+)\s*\/\s*(\d+)\s*$/.exec(text) ?? [];
  const [index, count] = [Number(first), Number(second)];
  if (index === 0 && count > 0) {
    throw usageError(`${name} counts from 1: 1/${count} to ${count}/${count} (got '${text}')`);
  }
  if (!(index >= 1 && index <= count && count <= MAX_SEGMENTS)) {
    throw mustBe(name, "a share such as 2/3, the second of three, or 'auto'", text);
  }
  return { index, count };
}

/** Reads the rank that Slurm, MPI or Kubernetes has given this process. */
function readRank(env: NodeJS.ProcessEnv): Segment {
  for (const { rank, size } of RANKS) {
    if (env[rank] === undefined) continue;
    if (env[size] === undefined) {
      throw usageError(`segment 'auto': ${rank} is set and ${size}, the number of shares, is not`);
    }
    const [index, count] = [readWhole(env, rank), readWhole(env, size)];
    if (index < count && count <= MAX_SEGMENTS) return { index: index + 1, count };
    throw usageError(
      `segment 'auto': ${rank} must be below ${size}, and that at most ${MAX_SEGMENTS} (got ${rank}=${index}, ${size}=${count})`,
    );
  }
  const known = RANKS.map(({ rank, size }) => `${rank} and ${size}`).join('; ');
  throw usageError(`segment 'auto' found no rank in the environment: it knows ${known}`);
}

function readWhole(env: NodeJS.ProcessEnv, name: string): number {
  const text = env[name] ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw usageError(`segment 'auto': ${name} must be a whole number (got '${text}')`);
}
