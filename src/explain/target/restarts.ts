import { MillraceError } from '../../errors.js';
import type { BlockLength } from './block-length.js';
import type { Experiment } from '../experiments/definitions.js';
import type { Change } from '../experiments/types.js';
import type { Metrics } from '../metrics/types.js';
import type { Observation } from '../observe/types.js';
import type { ServerUnderTest } from './server-under-test.js';

/** For the first responses of a new server, until its code is compiled. */
const WARMUP_MS = 1200;
/** For a server to end and another to listen, at the least; and for the end of one alone. */
const RESTART_MS = 1000;
const STOP_MS = 500;

/** What drifts falls on both alike, and the last server is one as it was. */
const IN_TURN = ['changed', 'base', 'base', 'changed', 'changed', 'base'] as const;
const FRESH_STARTS = ['changed', 'changed'] as const;

/** Blocks in pairs, before and after. */
export interface PairedBlocks {
  base: Observation[];
  changed: Observation[];
}

/** How long such an experiment takes. */
export function serverTrialMs(
  experiment: Experiment,
  metrics: Metrics,
  subject: ServerUnderTest,
  blockMs: number,
): number {
  const startMs = Math.max(RESTART_MS, subject.startMs + STOP_MS);
  if (experiment.change(metrics, {}).withSecondProcess) {
    return startMs + WARMUP_MS + IN_TURN.length * blockMs;
  }
  const servers = isAfterRestart(experiment) ? FRESH_STARTS.length : IN_TURN.length;
  return servers * (startMs + WARMUP_MS + blockMs);
}

/** Makes an experiment that starts servers; in words why it cannot be made. */
export function tryServers(
  experiment: Experiment,
  metrics: Metrics,
  subject: ServerUnderTest,
  length: BlockLength,
): Promise<PairedBlocks | string> {
  const change = experiment.change(metrics, subject.options);
  if (change.withSecondProcess) return tryBeside(subject, length, change);
  return tryRestarted(subject, length, change.environment ?? {}, isAfterRestart(experiment));
}

/** A fresh start is compared with the server as it has become. */
export function isAfterRestart({ name }: Experiment): boolean {
  return name === 'fresh start';
}

/** Each block on a server of its own that has been warmed up. */
async function tryRestarted(
  subject: ServerUnderTest,
  length: BlockLength,
  environment: Record<string, string>,
  ageing: boolean,
): Promise<PairedBlocks | string> {
  const paired: PairedBlocks = { base: [], changed: [] };
  if (ageing) {
    for (const _ of FRESH_STARTS) paired.base.push(await subject.block(length));
  }
  const warmUp = { settleMs: 0, measureMs: ageing ? WARMUP_MS / 2 : WARMUP_MS };
  for (const kind of ageing ? FRESH_STARTS : IN_TURN) {
    const added = kind === 'changed' ? environment : {};
    const seen = await blockOfNew(subject, added, warmUp, length);
    if (typeof seen === 'string') return seen;
    paired[kind].push(seen);
  }
  return paired;
}

/** Starts it anew, and warms it up before the block. In words why it does not bear that environment; it has its own again then. */
async function blockOfNew(
  subject: ServerUnderTest,
  environment: Record<string, string>,
  warmUp: BlockLength,
  length: BlockLength,
): Promise<Observation | string> {
  try {
    await subject.restart(environment);
    await subject.block(warmUp);
    return await subject.block(length);
  } catch (error) {
    if (Object.keys(environment).length === 0 || !isOfServer(error)) throw error;
    await subject.restart();
    return `the server does not start so: ${error.message}`;
  }
}

/** It does not start, or cannot be reached where it listens. */
function isOfServer(error: unknown): error is MillraceError {
  return (
    error instanceof MillraceError &&
    (error.code === 'ERR_MILLRACE_COMMAND' || error.code === 'ERR_MILLRACE_UNREACHABLE')
  );
}

/** Blocks that go to the first server alone, and to both. */
async function tryBeside(
  subject: ServerUnderTest,
  length: BlockLength,
  change: Change,
): Promise<PairedBlocks | string> {
  const paired: PairedBlocks = { base: [], changed: [] };
  try {
    await subject.startSecondProcess();
    await subject.block({ settleMs: 0, measureMs: WARMUP_MS }, change);
    for (const kind of IN_TURN) {
      paired[kind].push(await subject.block(length, kind === 'changed' ? change : {}));
    }
  } catch (error) {
    if (isOfServer(error)) return error.message;
    throw error;
  } finally {
    await subject.stopSecondProcess();
  }
  return paired;
}
