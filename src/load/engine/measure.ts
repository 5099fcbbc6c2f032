import { type ErrorCode, MillraceError } from '../../errors.js';
import { loadNative, type NativeOutcome } from '../../native.js';
import type { ServerProcess } from '../../process/command/start-command.js';
import type { LoadOptions } from '../options.js';
import { adviseOnCertificate } from '../outcome/certificate-advice.js';
import type { RunData } from '../outcome/outcome.js';
import { AbortWatch, readAbortOnFail } from '../plan/abort-conditions.js';
import type { Plan } from '../plan/plan.js';
import type { LoadResult } from '../result.js';
import { MachineReading } from './machine.js';
import { RunClock } from './run-clock.js';
import type { Snapshots } from './snapshots.js';
import { addTlsHint } from './tls-hint.js';
import { findUnreachedTargets } from './unreached-targets.js';

/** One run of the engine. */
export interface RunInput {
  options: LoadOptions;
  plan: Plan;
  /** The server that was started for it. */
  command: ServerProcess | null;
  /** Receives the run's progress. */
  snapshots: Snapshots;
}

/** The result, and when the measurement began and ended on the clock of `performance.now()`. */
export interface TimedResult {
  result: LoadResult;
  fromMs: number;
  toMs: number;
  /** Responses that came in the measurement, to requests of the warm-up too. */
  completed: number;
}

/** Why the engine was told to stop; what came first ended the run. */
type Stop = Pick<RunData, 'interrupted' | 'serverEnded' | 'abortedBy'>;

const NO_STOP: Stop = { interrupted: false, serverEnded: null, abortedBy: null };

/** Runs the engine, with the server's processes sampled, to the result. */
export async function measure({
  options,
  plan,
  command,
  snapshots,
}: RunInput): Promise<TimedResult> {
  const { signal, pid } = options;
  // Everything is loaded before the start: the run may take all descriptors that there are.
  const { NativeRun } = loadNative();
  const [{ findServer, sampleServer }, { buildResult }] = await Promise.all([
    import('./server.js'),
    import('../outcome/outcome.js'),
  ]);
  signal?.throwIfAborted();

  const lookUp = () => findServer(pid, command?.pid ?? null, plan.native.origins);
  // It takes milliseconds of a core: a closed run does not wait for it, but it must not make a schedule late.
  const foundBefore = plan.native.startRate === undefined ? undefined : lookUp();

  const clock = new RunClock();
  const machine = new MachineReading();
  const stops: Stop[] = [];
  const conditions = new AbortWatch(readAbortOnFail(options), plan.summary);
  const engine = NativeRun.start(plan.native, (snapshot) => {
    clock.saw(snapshot);
    if (snapshot.phase === 'measure') machine.begin();
    // A run that is told to stop goes through the phases that it has not reached: that is no progress.
    if (stops.length > 0) return;
    snapshots.push(snapshot);
    const abortedBy = conditions.findLost(snapshot);
    if (abortedBy !== null) stop({ ...NO_STOP, abortedBy });
  });
  const stop = (why: Stop) => {
    stops.push(why);
    clock.stopped();
    engine.stop();
  };
  const interrupt = () => stop({ ...NO_STOP, interrupted: true });
  signal?.addEventListener('abort', interrupt, { once: true });
  command?.exited.then((how) => stop({ ...NO_STOP, serverEnded: how }));
  const known = foundBefore === undefined ? lookUp() : foundBefore;
  const readServer = known && sampleServer(known);
  try {
    const outcome = await awaitOutcome(engine);
    const used = machine.end();
    await addTlsHint(outcome, plan.native.origins);
    const [why = NO_STOP] = outcome.interrupted ? stops : [];
    if (why.interrupted && hasSentNothing(outcome)) throw signal?.reason;
    const phases = clock.phasesOf(outcome);
    const server = readServer ? readServer(phases.from, phases.to) : null;
    const otherPorts = plan.toCommand && command ? await command.otherPorts() : [];
    const unreachedTargets = await findUnreachedTargets(outcome, plan);
    const result = buildResult({
      ...{ plan, outcome, phases, server, machine: used },
      ...why,
      otherPorts,
      unreachedTargets,
    });
    const { ok, statusErrors } = result.requests;
    const completed = ok + statusErrors + result.warmup.completedLater;
    return { result, fromMs: phases.from, toMs: phases.to, completed };
  } catch (error) {
    readServer?.(0, 0);
    machine.end();
    throw error;
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

/** Whether the run ended in set-up, or before anything was due. */
function hasSentNothing({ requests, warmup }: NativeOutcome): boolean {
  return requests.sent === 0 && warmup.requests === 0;
}

/** The engine's outcome; its errors carry the codes of `MillraceError`. */
async function awaitOutcome(engine: {
  finished(): Promise<NativeOutcome>;
}): Promise<NativeOutcome> {
  try {
    return await engine.finished();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code !== 'string' || !code.startsWith('ERR_MILLRACE_')) throw error;
    const advised = adviseOnCertificate(message) ?? message;
    throw new MillraceError(code as ErrorCode, advised, { cause: error });
  }
}
