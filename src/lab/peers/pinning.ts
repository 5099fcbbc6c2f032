import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { readAllowedCores } from '../../process/procfs/affinity.js';
import { findProgram } from './find-peer.js';

/** The cores of each side of a comparison, as lists for `taskset`; `null` if a side is not pinned. */
export interface CoreAssignment {
  tool: string | null;
  /** Cores of a server with one process. */
  server: string | null;
  /** Cores of a server with several processes; `null` if there are not enough cores. */
  several: { processes: number; cores: string | null } | null;
}

const MAX_PROCESSES = 3;

/** Chooses a core for the tool and others for the server. Nothing is pinned without `taskset` or enough cores. */
export function chooseCores(): CoreAssignment {
  const all = Array.from({ length: availableParallelism() }, (_, core) => core);
  const cores = readAllowedCores(process.pid) ?? all;
  return assignCores(cores, findProgram('taskset') !== null);
}

/** Assigns the last core to the tool, and the first cores to the server. */
export function assignCores(cores: number[], canPin: boolean): CoreAssignment {
  const [first] = cores;
  const tool = cores.at(-1);
  const processes = Math.min(MAX_PROCESSES, cores.length - 1);
  const pins = canPin && cores.length >= 2;
  return {
    tool: pins ? String(tool) : null,
    server: pins ? String(first) : null,
    several:
      processes < 2
        ? null
        : { processes, cores: pins ? cores.slice(0, processes).join(',') : null },
  };
}

/** Wraps a command so that it runs on these cores only. */
export function pinCommand(cores: string | null, command: string[]): string[] {
  return cores === null ? command : ['taskset', '-c', cores, ...command];
}

/** Pins all threads of running processes to these cores. */
export async function pinProcesses(cores: string | null, pids: number[]): Promise<void> {
  if (cores === null) return;
  for (const pid of pids) {
    await promisify(execFile)('taskset', ['-a', '-c', '-p', cores, String(pid)]);
  }
}
