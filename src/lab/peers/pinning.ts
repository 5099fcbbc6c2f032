import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { coresAllowed } from '../../process/procfs/affinity.js';
import { findProgram } from './find-peer.js';

/** The cores of a comparison, as lists that `taskset` takes; `null`: wherever the system puts it. */
export interface CoreAssignment {
  tool: string | null;
  /** For a server of one process. */
  server: string | null;
  /** For a server of several; `null`: there are no cores for them. */
  several: { processes: number; cores: string | null } | null;
}

const MAX_PROCESSES = 3;

/** A core for the tool, and others for the server. Without `taskset`, or cores enough, nothing is pinned. */
export function chooseCores(): CoreAssignment {
  const all = Array.from({ length: availableParallelism() }, (_, core) => core);
  const cores = coresAllowed(process.pid) ?? all;
  return assignCores(cores, findProgram('taskset') !== null);
}

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

/** The command that runs a command on these cores alone. */
export function pinCommand(cores: string | null, command: string[]): string[] {
  return cores === null ? command : ['taskset', '-c', cores, ...command];
}

/** Moves all threads of running processes to these cores. */
export async function pinProcesses(cores: string | null, pids: number[]): Promise<void> {
  if (cores === null) return;
  for (const pid of pids) {
    await promisify(execFile)('taskset', ['-a', '-c', '-p', cores, String(pid)]);
  }
}
