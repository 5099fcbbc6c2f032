import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../errors.js';
import { count } from '../../format/units.js';
import type { CountingServer } from './counting-server.js';
import type { FoundPeer } from './find-peer.js';
import { type PeerRun, runPeer } from './peer-run.js';
import type { PeerLoad, PeerReport } from './peers.js';
import { pinCommand } from './pinning.js';
import { findSteadyPart, type SteadyPart } from './steady.js';

/** What a tool said of a load, and what the server and the system saw of it. */
export interface PeerMeasurement {
  reported: PeerReport;
  /** Requests that the server counted, from the tool's start to its end. */
  counted: number;
  /** `null`: the load was too short. */
  steady: SteadyPart | null;
}

/** Why a run is no measurement. */
export interface PeerFailure {
  failure: string;
}

/** What a tool may need beside its load, to start and to say what it found. */
const SPARE_MS = 5000;

/** Lets a tool load a server. What goes wrong with the tool is told, not thrown. */
export async function measurePeer(
  { peer, program }: FoundPeer,
  server: CountingServer,
  load: Omit<PeerLoad, 'url'>,
  { cores, signal }: { cores: string | null; signal: AbortSignal },
): Promise<PeerMeasurement | PeerFailure> {
  const full = { ...load, url: server.url };
  for (const [name, text] of Object.entries(peer.files?.(full) ?? {})) {
    await writeFile(join(load.folder, name), text);
  }
  const command = pinCommand(cores, peer.command(program, full));
  const limitMs = load.seconds * 1000 + SPARE_MS;
  const run = await runPeer(command, server, { limitMs, signal }).catch(toPeerFailure(signal));
  if (!('output' in run)) return run;
  if (run.failure !== null) return { failure: run.failure };
  const reported = readReport(peer.read, run.output);
  if (reported === null) return { failure: 'it printed no report that is known here' };
  const contradiction = findContradiction(run, load.close);
  if (contradiction !== null) return { failure: contradiction };
  return { reported, counted: run.requests, steady: findSteadyPart(run.readings) };
}

/** A tool that cannot be started is one that is not measured. */
function toPeerFailure(signal: AbortSignal): (error: Error) => PeerFailure {
  return (error) => {
    signal.throwIfAborted();
    if (error instanceof MillraceError) return { failure: error.message };
    throw error;
  };
}

function readReport(read: (output: string) => PeerReport, output: string): PeerReport | null {
  try {
    const report = read(output);
    return Object.values(report).every(Number.isFinite) ? report : null;
  } catch {
    return null;
  }
}

/** Whether the connections were what was asked for. */
function findContradiction({ requests, connections }: PeerRun, close: boolean): string | null {
  if (requests === 0) return 'the server got no request';
  if (connections === null) return null;
  const share = connections.count / requests;
  const observed = `${count(requests)} requests on ${count(connections.count)} connections`;
  if (close && share < 0.5) return `it keeps its connections: ${observed}`;
  // Of all servers of a machine some others may accept many.
  if (!close && share > 0.5 && !connections.ofAll)
    return `it does not keep its connections: ${observed}`;
  return null;
}
