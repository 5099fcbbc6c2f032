import { type ErrorCode, MillraceError } from '../errors.js';
import { loadNative, type NativeOutcome } from '../native.js';
import type { ServerProcess } from '../process/command.js';
import { MeasurementClock } from './clock.js';
import type { LoadOptions } from './options.js';
import type { Plan } from './plan.js';
import type { LoadResult } from './result.js';
import type { Snapshots } from './snapshots.js';

/** One run of the engine. */
export interface Measurement {
  options: LoadOptions;
  plan: Plan;
  /** The server that was started for it. */
  command: ServerProcess | null;
  /** Receives the run's progress. */
  snapshots: Snapshots;
}

/** Runs the engine, with the server's processes sampled, to the result. */
export async function measure({
  options,
  plan,
  command,
  snapshots,
}: Measurement): Promise<LoadResult> {
  const { signal, pid } = options;
  // Everything is loaded before the start: the run may take all descriptors that there are.
  const [{ NativeRun }, { knownServer, sampleServer }, { resultOf }] = await Promise.all([
    loadNative(),
    import('./server.js'),
    import('./outcome.js'),
  ]);
  signal?.throwIfAborted();

  const lookUp = () => knownServer(pid, command?.pid ?? null, plan.native.origins);
  // It takes milliseconds of a core: a closed run does not wait for it, but it must not make a schedule late.
  const foundBefore = plan.native.startRate === undefined ? undefined : lookUp();

  const clock = new MeasurementClock();
  const engine = NativeRun.start(plan.native, (snapshot) => {
    if (snapshot.phase === 'measure') clock.sawElapsed(snapshot.elapsedMs);
    snapshots.push(snapshot);
  });
  const stop = () => engine.stop();
  signal?.addEventListener('abort', stop, { once: true });
  let serverEnded: string | null = null;
  command?.exited.then((how) => {
    serverEnded = how;
    stop();
  });
  const known = foundBefore === undefined ? lookUp() : foundBefore;
  const readServer = known && sampleServer(known);
  try {
    const outcome = await finished(engine);
    clock.sawElapsed(outcome.durationMs);
    const { from, to, startedAt } = clock.measurement(outcome.durationMs);
    const server = readServer ? readServer(from, to) : null;
    return resultOf({ plan, outcome, startedAt, server, serverEnded });
  } catch (error) {
    readServer?.(0, 0);
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** The engine's outcome; its errors carry the codes of `MillraceError`. */
async function finished(engine: { finished(): Promise<NativeOutcome> }): Promise<NativeOutcome> {
  try {
    return await engine.finished();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code !== 'string' || !code.startsWith('ERR_MILLRACE_')) throw error;
    const advice = /certificate/.test(message) ? '; trust it by --ca, or accept any with -k' : '';
    throw new MillraceError(code as ErrorCode, `${message}${advice}`, { cause: error });
  }
}
