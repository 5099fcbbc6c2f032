import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../errors.js';
import { count } from '../../format/units.js';
import type { CountingServer } from './counting-server.js';
import type { FoundPeer } from './find-peer.js';
import { type PeerRun, runPeer } from './peer-run.js';
import type { PeerLoad, Told } from './peers.js';
import { onCores } from './pinning.js';
import { type Steady, steadyPart } from './steady.js';

/** What a tool said of a load, and what the server and the system saw of it. */
export interface Measured {
  told: Told;
  /** Requests that the server counted, from the tool's start to its end. */
  counted: number;
  /** `null`: the load was too short. */
  steady: Steady | null;
}

/** Why a run is no measurement. */
export interface Fault {
  fault: string;
}

/** What a tool may need beside its load, to start and to say what it found. */
const SPARE_MS = 5000;

/** Lets a tool load a server. What goes wrong with the tool is told, not thrown. */
export async function measurePeer(
  { peer, program }: FoundPeer,
  server: CountingServer,
  load: Omit<PeerLoad, 'url'>,
  { cores, signal }: { cores: string | null; signal: AbortSignal },
): Promise<Measured | Fault> {
  const full = { ...load, url: server.url };
  for (const [name, text] of Object.entries(peer.files?.(full) ?? {})) {
    await writeFile(join(load.folder, name), text);
  }
  const command = onCores(cores, peer.command(program, full));
  const limitMs = load.seconds * 1000 + SPARE_MS;
  const run = await runPeer(command, server, { limitMs, signal }).catch(toFault(signal));
  if (!('output' in run)) return run;
  if (run.fault !== null) return { fault: run.fault };
  const told = toldBy(peer.read, run.output);
  if (told === null) return { fault: 'it printed no report that is known here' };
  const contradiction = contradictionIn(run, load.close);
  if (contradiction !== null) return { fault: contradiction };
  return { told, counted: run.requests, steady: steadyPart(run.readings) };
}

/** A tool that cannot be started is one that is not measured. */
function toFault(signal: AbortSignal): (error: Error) => Fault {
  return (error) => {
    signal.throwIfAborted();
    if (error instanceof MillraceError) return { fault: error.message };
    throw error;
  };
}

function toldBy(read: (output: string) => Told, output: string): Told | null {
  try {
    const told = read(output);
    return Object.values(told).every(Number.isFinite) ? told : null;
  } catch {
    return null;
  }
}

/** Whether the connections were what was asked for. */
function contradictionIn({ requests, connections }: PeerRun, close: boolean): string | null {
  if (requests === 0) return 'the server got no request';
  if (connections === null) return null;
  const share = connections.count / requests;
  const seen = `${count(requests)} requests on ${count(connections.count)} connections`;
  if (close && share < 0.5) return `it keeps its connections: ${seen}`;
  // Of all servers of a machine some others may accept many.
  if (!close && share > 0.5 && !connections.ofAll)
    return `it does not keep its connections: ${seen}`;
  return null;
}
