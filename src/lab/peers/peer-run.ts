import { setTimeout as sleep } from 'node:timers/promises';
import { stopGroup } from '../../process/command/process-group.js';
import { type SpawnedCommand, spawnCommand } from '../../process/command/spawn.js';
import { findProcessTree } from '../../process/discovery/process-tree.js';
import { hasProcfs, readText } from '../../process/procfs/procfs.js';
import { parseColumn } from '../../process/procfs/tcp-counters.js';
import { createCpuMeter } from '../../process/sampling/thread-cpu.js';
import type { CountingServer } from './counting-server.js';
import type { Reading } from './steady.js';

/** The run of a command that loads a server. */
export interface PeerRun {
  /** Output of the command. */
  output: string;
  /** Reason why the output is not a result: the command failed or was stopped; `null` if it succeeded. */
  failure: string | null;
  /** Requests that the server counted. */
  requests: number;
  /** Accepted connections: of this server or, if it does not count them, of the whole machine. */
  connections: { count: number; ofAll: boolean } | null;
  readings: Reading[];
}

const READING_INTERVAL_MS = 50;
/** Interval at which the count is read after the tool's end: its last requests may still be in flight. */
const QUIET_MS = 20;
/** Maximum readings after the tool's end; requests after that come from elsewhere. */
const MAX_READS = 50;
const SUCCESS = 'ended with exit code 0';

/**
 * Runs a command to its end, for at most `limitMs`. Meanwhile reads the server's count and the CPU time of both sides.
 *
 * @throws {MillraceError} `ERR_MILLRACE_COMMAND` if it cannot be started.
 */
export async function runPeer(
  command: string[],
  server: CountingServer,
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<PeerRun> {
  signal.throwIfAborted();
  const [requests, connections] = [await server.requests(), await readConnections(server)];
  const chunks: Buffer[] = [];
  const spawned = await spawnCommand(command, { onOutput: (chunk) => chunks.push(chunk) });
  const { pid, ended, errorLine } = spawned;
  const stop = () => stopGroup(pid, 0);
  const guard = guardRun(stop, limitMs, signal);
  try {
    const readings = await collectReadings(spawned, server);
    const how = await ended;
    signal.throwIfAborted();
    const last = errorLine();
    const failed = how === SUCCESS ? null : last === '' ? how : `${how}: ${last}`;
    return {
      output: Buffer.concat(chunks).toString(),
      failure: guard.isLate() ? `stopped, as it did not finish within ${limitMs / 1000} s` : failed,
      requests: (await readSettledRequests(server)) - requests,
      connections: connections && {
        ...connections,
        count: ((await readConnections(server))?.count ?? 0) - connections.count,
      },
      readings,
    };
  } finally {
    guard.off();
    await stop();
    await spawned.close();
  }
}

/** Stops the command after its time limit or when the signal aborts. */
function guardRun(stop: () => Promise<void>, limitMs: number, signal: AbortSignal) {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, limitMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return {
    isLate: () => isLate,
    off() {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

/** Takes readings until the command has ended. */
async function collectReadings(
  { pid, ended }: SpawnedCommand,
  server: CountingServer,
): Promise<Reading[]> {
  const [tool, own] = [createCpuClock(), createCpuClock()];
  let over = false;
  ended.then(() => {
    over = true;
  });
  const readings: Reading[] = [];
  while (!over) {
    const requests = await server.requests();
    const cpu = hasProcfs
      ? { toolMs: tool(findProcessTree(pid)), serverMs: own(server.pids) }
      : null;
    readings.push({ atMs: performance.now(), requests, cpu });
    await Promise.race([ended, sleep(READING_INTERVAL_MS)]);
  }
  return readings;
}

/** Creates a clock of the CPU time that processes have used since its first call, in milliseconds. */
function createCpuClock(): (pids: number[]) => number {
  const meter = createCpuMeter();
  let allNs = 0;
  return (pids) => {
    for (const { cpuNs } of meter(pids).values()) allNs += cpuNs;
    return allNs / 1e6;
  };
}

/** Reads the server's count once it no longer changes. */
async function readSettledRequests(server: CountingServer): Promise<number> {
  let before = await server.requests();
  for (let look = 0; look < MAX_READS; look += 1) {
    await sleep(QUIET_MS);
    const now = await server.requests();
    if (now === before) break;
    before = now;
  }
  return before;
}

async function readConnections(server: CountingServer): Promise<PeerRun['connections']> {
  if (server.connections) return { count: await server.connections(), ofAll: false };
  const count = parseColumn(readText('/proc/net/snmp') ?? '', 'Tcp', 'PassiveOpens');
  return count === null ? null : { count, ofAll: true };
}
