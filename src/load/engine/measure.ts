import { readCommit } from '../../environment/commit.js';
import { type ErrorCode, MillraceError } from '../../errors/millrace-error.js';
import {
  loadNative,
  type NativeOutcome,
  type NativeSnapshot,
  type NativeTracedStep,
} from '../../native/addon.js';
import type { ServerProcess } from '../../process/command/start-command.js';
import type { LoadOptions } from '../options.js';
import { adviseOnCertificate } from '../outcome/certificate-advice.js';
import type { RunData } from '../outcome/outcome.js';
import { findUnreachedTargets } from '../outcome/unreached-targets.js';
import { AbortWatch } from '../plan/abort-conditions.js';
import { checkOpenFiles } from '../plan/open-files.js';
import type { Plan } from '../plan/plan.js';
import type { LoadResult } from '../result.js';
import { HookDispatcher } from './hooks.js';
import { MachineReading } from './machine.js';
import { RunClock } from './run-clock.js';
import type { Snapshots } from './snapshots.js';
import { planStart, waitForStart } from './start.js';
import { addTlsHint, addTlsHintToError } from './tls-hint.js';

/** What one run of the engine needs. */
export interface RunInput {
  options: LoadOptions;
  plan: Plan;
  /** The server that was started for the run. */
  command: ServerProcess | null;
  /** Receives the run's progress. */
  snapshots: Snapshots;
  /** Resolves with the start, in place of the plan's. */
  awaitStart?: () => Promise<number>;
}

/** The result, and the start and end of the measurement on the clock of `performance.now()`. */
export interface TimedResult {
  result: LoadResult;
  fromMs: number;
  toMs: number;
  /** Responses that arrived in the measurement, to requests of the warm-up too. */
  completed: number;
  /** The steps of a dry run, and the names of the variables. */
  trace: NativeTracedStep[];
  variables: readonly string[];
}

/** Why the engine was stopped; the first cause ended the run. */
type StopCause = Pick<RunData, 'interrupted' | 'serverEnded' | 'abortedBy'>;

const NO_STOP: StopCause = { interrupted: false, serverEnded: null, abortedBy: null };

/** Runs the engine, samples the server's processes, and builds the result. */
export async function measure({
  options,
  plan: given,
  command,
  snapshots,
  awaitStart,
}: RunInput): Promise<TimedResult> {
  const { signal, pid, cwd = process.cwd() } = options;
  // All modules are loaded before the start: the run may use up all file descriptors.
  const { NativeRun } = loadNative();
  const [{ findServer, sampleServer }, { buildResult }] = await Promise.all([
    import('./server.js'),
    import('../outcome/outcome.js'),
  ]);
  signal?.throwIfAborted();
  const files = checkOpenFiles(given.native);
  const commit = readCommit(cwd);

  const lookUpServer = () => findServer(pid, command?.pid ?? null, given.native.origins);
  // The search takes milliseconds of CPU. An open run does it first, so that no request is late; a closed run does not wait.
  const foundBefore = given.native.startRate === undefined ? undefined : lookUpServer();

  const plan = awaitStart ? { ...given, startAtMs: await awaitStart() } : given;
  const clock = new RunClock();
  const machine = new MachineReading();
  const stops: StopCause[] = [];
  const abortWatch = new AbortWatch(
    plan.abortConditions,
    plan.summary,
    plan.names,
    plan.native.flows,
  );
  const hooks = plan.hooks.length > 0 ? new HookDispatcher(plan) : null;
  await waitForStart(plan.startAtMs, snapshots, signal);
  const { native, overdueMs } = planStart(plan);
  const engine = NativeRun.start(native, onSnapshot, hooks?.dispatch);
  hooks?.answerTo(engine);
  function onSnapshot(snapshot: NativeSnapshot): void {
    clock.addSnapshot(snapshot);
    if (snapshot.phase === 'measure') machine.begin();
    // A stopped run still passes through the remaining phases; these snapshots are not progress.
    if (stops.length > 0) return;
    snapshots.push(snapshot, plan);
    const abortedBy = abortWatch.findViolated(snapshot);
    if (abortedBy !== null) stop({ ...NO_STOP, abortedBy });
  }
  function stop(cause: StopCause): void {
    stops.push(cause);
    clock.markStopped();
    engine.stop();
  }
  const interrupt = () => stop({ ...NO_STOP, interrupted: true });
  signal?.addEventListener('abort', interrupt, { once: true });
  command?.exited.then((how) => stop({ ...NO_STOP, serverEnded: how }));
  const foundServer = foundBefore === undefined ? lookUpServer() : foundBefore;
  const readServer = foundServer && sampleServer(foundServer);
  try {
    const outcome = await awaitOutcome(engine);
    const machineCpu = machine.end();
    await addTlsHint(outcome, plan.native.origins);
    const [cause = NO_STOP] = outcome.interrupted ? stops : [];
    if (cause.interrupted && hasSentNothing(outcome)) throw signal?.reason;
    const phases = clock.computePhases(outcome);
    const server = readServer ? readServer(phases.from, phases.to) : null;
    const otherPorts = plan.toCommand && command ? await command.otherPorts() : [];
    const unreachedTargets = await findUnreachedTargets(outcome, plan);
    const result = buildResult({
      ...{ plan, outcome, phases, server, machine: machineCpu, commit },
      ...cause,
      otherPorts,
      startLatenessMs: outcome.startLatenessMs + overdueMs,
      unreachedTargets,
      files,
      hookFigures: hooks?.figures() ?? { hooks: null, metrics: {} },
    });
    const { ok, statusErrors } = result.requests;
    const completed = ok + statusErrors + result.warmup.completedLater;
    return {
      ...{ result, fromMs: phases.from, toMs: phases.to, completed },
      trace: outcome.flows?.trace ?? [],
      variables: plan.native.flows?.variables ?? [],
    };
  } catch (error) {
    readServer?.(0, 0);
    machine.end();
    throw await addTlsHintToError(error, plan.native);
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

/** Whether no request was sent: the run ended in set-up, or before a request was due. */
function hasSentNothing({ requests, warmup }: NativeOutcome): boolean {
  return requests.sent === 0 && warmup.requests === 0;
}

/** Waits for the engine's outcome; turns its errors into `MillraceError`. */
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
