import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../errors/millrace-error.js';
import { count } from '../../format/units.js';
import type { CountingServer } from './counting-server.js';
import type { FoundPeer } from './find-peer.js';
import { type PeerRun, runPeer } from './peer-run.js';
import type { PeerLoad, PeerReport } from './peers.js';
import { pinCommand } from './pinning.js';
import { findSteadyPart, type SteadyPart } from './steady.js';

/** A load as reported by the tool and as counted by the server and the system. */
export interface PeerMeasurement {
  reported: PeerReport;
  /** Requests that the server counted while the tool ran. */
  counted: number;
  /** `null` if the load was too short. */
  steady: SteadyPart | null;
}

/** A run without a valid measurement. */
export interface PeerFailure {
  failure: string;
}

/** Time that a tool may take in addition to its load, to start and to report. */
const SPARE_MS = 5000;

/** Lets a tool load a server. Returns failures of the tool instead of throwing them. */
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
  if (reported === null) return { failure: 'it printed no report in a known format' };
  const contradiction = findContradiction(run, load.close);
  if (contradiction !== null) return { failure: contradiction };
  return { reported, counted: run.requests, steady: findSteadyPart(run.readings) };
}

/** Converts the error of a tool that could not be started; rethrows any other. */
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

/** Checks that the tool kept or closed its connections as requested; returns the contradiction, if any. */
function findContradiction({ requests, connections }: PeerRun, close: boolean): string | null {
  if (requests === 0) return 'the server received no request';
  if (connections === null) return null;
  const share = connections.count / requests;
  const observed = `${count(requests)} requests on ${count(connections.count)} connections`;
  if (close && share < 0.5) return `it keeps its connections: ${observed}`;
  // A count of the whole machine may include connections of other servers.
  if (!close && share > 0.5 && !connections.ofAll)
    return `it does not keep its connections: ${observed}`;
  return null;
}
