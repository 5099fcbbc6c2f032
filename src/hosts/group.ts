import { packageVersion } from '../environment/version.js';
import { MillraceError } from '../errors/millrace-error.js';
import { time } from '../format/units.js';
import { SETUP_MS, wallClockMs } from '../load/engine/start.js';
import type { LoadResult } from '../load/result.js';
import { untilAborted } from '../load/until-aborted.js';
import { platformName } from '../native/addon.js';
import type { CollectedRun } from './collect-files.js';
import { type MeasuredClock, measureClock } from './connection/clock.js';
import type { Session } from './connection/session.js';
import { SILENT_HOST_MS, SILENT_PREPARING_MS } from './defaults.js';
import { encodeOptions } from './encode-options.js';
import { HostError, type HostFailure, HostsError } from './failure.js';
import { type HostShare, unpackResult } from './merge-shares.js';
import type { HostsProgress } from './progress.js';

/** How long a host may take to give the report so far when the run is interrupted. */
const STOP_MS = 10_000;

/** Time before the start in which hosts open connections: a part of its own, and one for each connection. */
const CONNECT_MS = { base: 300, perConnection: 2 };

/** What the hosts of a run have given. */
export interface Collected {
  shares: HostShare[];
  failures: HostFailure[];
}

/** The hosts of a run: all are prepared, start at one instant, and give their results. */
export class HostGroup {
  readonly #sessions: readonly Session[];
  readonly #progress: HostsProgress;
  readonly #signal: AbortSignal | undefined;

  constructor(
    sessions: readonly Session[],
    progress: HostsProgress,
    signal: AbortSignal | undefined,
  ) {
    this.#sessions = sessions;
    this.#progress = progress;
    this.#signal = signal;
  }

  /** Checks the hosts, and has each prepare its share. Rejects with a `HostsError` if one cannot be used. */
  async prepare(run: CollectedRun, clockSkewMs: number): Promise<MeasuredClock[]> {
    const all = Promise.allSettled(
      this.#sessions.map((session, index) => this.#prepare(session, index, run, clockSkewMs)),
    );
    const outcomes = await untilAborted(all, this.#signal);
    const failures = listFailures(outcomes);
    if (failures.length > 0) throw new HostsError(failures);
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  }

  async #prepare(
    session: Session,
    index: number,
    { options, plan, inputs, tree }: CollectedRun,
    clockSkewMs: number,
  ): Promise<MeasuredClock> {
    const { version, platform } = await session.expect(['hello']);
    if (version !== packageVersion()) refuseVersion(session, version);
    if (session.isCopied && platform !== platformName()) refusePlatform(session, platform);
    const clock = await measureClock(session);
    if (Math.abs(clock.offsetMs) - clock.boundMs > clockSkewMs) {
      refuseClock(session, clock, clockSkewMs);
    }
    const { failOn, startAt, signal, abortOnFail, ...own } = options;
    session.allowSilence(SILENT_PREPARING_MS);
    session.send({
      type: 'prepare',
      options: encodeOptions({
        ...own,
        segment: `${index + 1}/${this.#sessions.length}`,
        seed: plan.summary.seed,
      }),
      inputs,
      ...(tree && { tree }),
    });
    await session.expect(['ready']);
    session.allowSilence(SILENT_HOST_MS);
    this.#progress.mark(session.host.name, 'wait');
    return clock;
  }

  /** Chooses an instant at which all can begin. */
  chooseStart(clocks: readonly MeasuredClock[], { plan }: CollectedRun): number {
    const { base, perConnection } = CONNECT_MS;
    const connections = plan.summary.initialConnections / this.#sessions.length;
    const slowest = Math.max(...clocks.map(({ roundTripMs }) => roundTripMs));
    return wallClockMs() + 2 * slowest + Math.min(SETUP_MS, base + perConnection * connections);
  }

  /** Tells the hosts when to begin, each on its own clock. */
  start(clocks: readonly MeasuredClock[], atMs: number): void {
    for (const [index, session] of this.#sessions.entries()) {
      session.onSnapshot = (snapshot) => this.#progress.add(session.host.name, snapshot);
      session.send({ type: 'start', atMs: atMs + (clocks[index]?.offsetMs ?? 0) });
    }
  }

  /** Waits for the results, also after an interrupt, as far as they are. A host that fails takes no other along. */
  async collect(clocks: readonly MeasuredClock[], atMs: number): Promise<Collected> {
    const stop = () => this.#stop();
    if (this.#signal?.aborted) stop();
    this.#signal?.addEventListener('abort', stop, { once: true });
    const outcomes = await Promise.allSettled(
      this.#sessions.map((session, index) => this.#collect(session, clocks[index], atMs)),
    );
    this.#signal?.removeEventListener('abort', stop);
    return {
      shares: outcomes.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? (outcome.value ?? []) : [],
      ),
      failures: listFailures(outcomes),
    };
  }

  /** Waits for the result of a host; `null` if it was stopped before it had one. */
  async #collect(
    session: Session,
    clock: MeasuredClock | undefined,
    atMs: number,
  ): Promise<HostShare | null> {
    const host = session.host.name;
    try {
      const message = await session.expect(['result', 'stopped']);
      this.#progress.mark(host, 'done');
      if (message.type === 'stopped' || !clock) return null;
      return { host, clock, result: unpack(session, message.deflated, clock, atMs) };
    } catch (error) {
      this.#progress.mark(host, 'failed', toFailure(error));
      throw error;
    }
  }

  #stop(): void {
    for (const session of this.#sessions) session.send({ type: 'stop' });
    setTimeout(() => {
      for (const session of this.#sessions) {
        session.fail(`gave no result within ${STOP_MS / 1000} s of the interrupt`);
      }
    }, STOP_MS).unref();
  }

  /** Ends all connections, and what runs at their ends. */
  async end(): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.end()));
  }
}

/** Unpacks a result; one that cannot be read is a failure of its host. */
function unpack(
  session: Session,
  deflated: string,
  clock: MeasuredClock,
  atMs: number,
): LoadResult {
  try {
    return unpackResult(deflated, clock, atMs);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const { name } = session.host;
    throw new HostError({ host: name, message: error.message, code: 'ERR_MILLRACE_UNREACHABLE' });
  }
}

function refuseVersion(session: Session, version: string): void {
  const own = packageVersion();
  session.fail(
    `has millrace ${version}, and this machine ${own}: install the same there (npm install -g millrace@${own}), or --copy brings this one`,
    'ERR_MILLRACE_USAGE',
  );
}

function refusePlatform(session: Session, platform: string): void {
  session.fail(
    `is ${platform}, and this machine ${platformName()}, whose millrace --copy brings: install millrace there (npm install -g millrace)`,
    'ERR_MILLRACE_USAGE',
  );
}

function refuseClock(session: Session, clock: MeasuredClock, limitMs: number): void {
  const { offsetMs, boundMs } = clock;
  const way = offsetMs > 0 ? 'ahead' : 'behind';
  session.fail(
    `its clock is ${time(Math.abs(offsetMs))} ${way} (within ${time(boundMs)}), more than ${time(limitMs)}: set the clocks (NTP), or allow it by --clock-skew, as starts are corrected`,
    'ERR_MILLRACE_USAGE',
  );
}

function listFailures(outcomes: readonly PromiseSettledResult<unknown>[]): HostFailure[] {
  return outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [toFailure(outcome.reason)] : [],
  );
}

/** Returns the failure of a host; what is none is a defect. */
function toFailure(error: unknown): HostFailure {
  if (error instanceof HostError) return error.failure;
  throw error;
}
