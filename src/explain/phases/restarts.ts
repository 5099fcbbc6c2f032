import { MillraceError } from '../../errors/millrace-error.js';
import type { Experiment } from '../experiments/experiment.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { BlockLength } from '../target/block-length.js';
import type { Change } from '../target/change.js';
import type { ServerUnderTest } from '../target/server-under-test.js';

/** Warm-up of a new server, until its code is compiled. */
const WARMUP_MS = 1200;
/** Minimum time to end a server and start another; and time to end one. */
const RESTART_MS = 1000;
const STOP_MS = 500;

/** The order balances drift between both kinds, and the last server is an unchanged one. */
const ALTERNATING = ['changed', 'base', 'base', 'changed', 'changed', 'base'] as const;
const FRESH_STARTS = ['changed', 'changed'] as const;

/** Unchanged and changed blocks, in pairs. */
export interface PairedBlocks {
  base: Observation[];
  changed: Observation[];
}

/** Estimates how long an experiment with new servers takes. */
export function estimateRestartMs(
  experiment: Experiment,
  metrics: Metrics,
  subject: ServerUnderTest,
  blockMs: number,
): number {
  const startMs = Math.max(RESTART_MS, subject.startMs + STOP_MS);
  if (experiment.change(metrics, {}).withSecondProcess) {
    return startMs + WARMUP_MS + ALTERNATING.length * blockMs;
  }
  const servers = isAfterRestart(experiment) ? FRESH_STARTS.length : ALTERNATING.length;
  return servers * (startMs + WARMUP_MS + blockMs);
}

/** Runs an experiment that starts servers. Returns the reason as text if it cannot be run. */
export function runOnNewServers(
  experiment: Experiment,
  metrics: Metrics,
  subject: ServerUnderTest,
  length: BlockLength,
): Promise<PairedBlocks | string> {
  const change = experiment.change(metrics, subject.options);
  if (change.withSecondProcess) return compareWithSecondProcess(subject, length, change);
  return compareRestarted(subject, length, change.environment ?? {}, isAfterRestart(experiment));
}

/** Whether an experiment compares a fresh start with the aged server. */
export function isAfterRestart({ name }: Experiment): boolean {
  return name === 'restart';
}

/** Measures each block on a new server that has been warmed up. */
async function compareRestarted(
  subject: ServerUnderTest,
  length: BlockLength,
  environment: Record<string, string>,
  isFreshStart: boolean,
): Promise<PairedBlocks | string> {
  const paired: PairedBlocks = { base: [], changed: [] };
  if (isFreshStart) {
    for (const _ of FRESH_STARTS) paired.base.push(await subject.runBlock(length));
  }
  const warmUp = { settleMs: 0, measureMs: isFreshStart ? WARMUP_MS / 2 : WARMUP_MS };
  for (const kind of isFreshStart ? FRESH_STARTS : ALTERNATING) {
    const added = kind === 'changed' ? environment : {};
    const observation = await measureNewServer(subject, added, warmUp, length);
    if (typeof observation === 'string') return observation;
    paired[kind].push(observation);
  }
  return paired;
}

/**
 * Restarts the server with an environment, warms it up and measures a block. If it does not start so, restarts it with
 * its own environment and returns the reason as text.
 */
async function measureNewServer(
  subject: ServerUnderTest,
  environment: Record<string, string>,
  warmUp: BlockLength,
  length: BlockLength,
): Promise<Observation | string> {
  try {
    await subject.restart(environment);
    await subject.runBlock(warmUp);
    return await subject.runBlock(length);
  } catch (error) {
    if (Object.keys(environment).length === 0 || !isServerFailure(error)) throw error;
    await subject.restart();
    return `the server does not start with this change: ${error.message}`;
  }
}

/** Whether the server does not start, or cannot be reached where it listens. */
function isServerFailure(error: unknown): error is MillraceError {
  return (
    error instanceof MillraceError &&
    (error.code === 'ERR_MILLRACE_COMMAND' || error.code === 'ERR_MILLRACE_UNREACHABLE')
  );
}

/** Compares blocks that go to the first server only with blocks that go to both. */
async function compareWithSecondProcess(
  subject: ServerUnderTest,
  length: BlockLength,
  change: Change,
): Promise<PairedBlocks | string> {
  const paired: PairedBlocks = { base: [], changed: [] };
  try {
    await subject.startSecondProcess();
    await subject.runBlock({ settleMs: 0, measureMs: WARMUP_MS }, change);
    for (const kind of ALTERNATING) {
      paired[kind].push(await subject.runBlock(length, kind === 'changed' ? change : {}));
    }
  } catch (error) {
    if (isServerFailure(error)) return error.message;
    throw error;
  } finally {
    await subject.stopSecondProcess();
  }
  return paired;
}
