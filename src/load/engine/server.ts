import type { NativeOrigin } from '../../native/addon.js';
import { findPortOwner } from '../../process/listening/port-owners.js';
import { sampleProcesses } from '../../process/sampling/process-tree-sampler.js';
import type { LoadOptions } from '../options.js';
import type { ServerResult } from '../result.js';

/** The server's process, and how it was found. */
export interface KnownServer {
  pid: number;
  source: ServerResult['source'];
}

/** Finds the server's process: the pid of the options, the command's, or the local owner of the targets' ports; else `null`. */
export function findServer(
  pid: LoadOptions['pid'],
  commandPid: number | null,
  origins: NativeOrigin[],
): KnownServer | null {
  if (pid === false) return null;
  if (pid !== undefined) return { pid, source: 'pid' };
  if (commandPid !== null) return { pid: commandPid, source: 'command' };
  const [owner, ...others] = new Set(origins.map(findOwner));
  // Of several servers only one would be sampled; a server in this process cannot be separated from the generator.
  const isOne = others.length === 0 && owner !== process.pid;
  return isOne && owner ? { pid: owner, source: 'port-owner' } : null;
}

function findOwner({ host, port, unixPath }: NativeOrigin): number | null {
  return unixPath === undefined ? findPortOwner(port, host) : null;
}

/** Samples the server until the returned function is called with the measurement's start and end on the clock of `performance.now()`. */
export function sampleServer({
  pid,
  source,
}: KnownServer): (from: number, to: number) => ServerResult | null {
  const sampler = sampleProcesses(pid);
  return (from, to) => {
    const readings = sampler.stop(from, to);
    if (!readings) return null;
    const series = readings.series.map(({ tMs, cpu, rssMb }) => ({
      tMs: Math.max(0, tMs - from),
      cpu,
      rssMb,
    }));
    return { ...readings, source, series };
  };
}
