import { setTimeout as sleep } from 'node:timers/promises';
import { usageError } from '../../errors/millrace-error.js';
import { MIN_PAUSE_MS } from '../../probe/protocol.cjs';
import { checkPid, isRunning } from '../../process/discovery/check-pid.js';
import { isNode } from '../../process/discovery/node-process.js';
import { findListeningSockets } from '../../process/listening/port-owners.js';
import { checkOptions, duration, flag, number, type Shapes, text } from '../../validation/shape.js';
import { parseDuration } from '../../validation/units.js';
import { EXPLAIN_DEFAULTS, WATCH_DEFAULTS, WATCH_INTERVAL_MS } from '../defaults.js';
import { attachProbes } from '../observe/probe/attach.js';
import { openProbeHub, type ProbeHub } from '../observe/probe/hub.js';
import type { Observation } from '../observe/types.js';
import { findVisibilityGaps } from '../observe/visibility-gaps.js';
import { analyzeProfile, type ProfileView } from '../profile/analyze.js';
import { takeProfile } from '../profile/capture.js';
import { toWaitPaths } from '../waits/wait-paths.js';
import type { ObservedWaits } from '../waits/waits-graph.js';
import { judgeCondition } from './judge.js';
import { WatchMemory } from './memory.js';
import type { WatchOptions } from './options.js';
import { WatchPeriod } from './period.js';
import { WatchedProcesses } from './processes.js';
import {
  isSimilarLoad,
  isWorthProfile,
  isWorthWaits,
  reportWindow,
  type WindowReport,
} from './report.js';
import type { WatchReason, WatchReport } from './result.js';
import { parseUntil, type Until } from './until.js';

/** The accepted values of each option of `watch()`. */
const WATCH_OPTIONS: Shapes<WatchOptions> = {
  ...{ pid: number, port: number, interval: duration, until: text, attach: flag },
  signal: () => {},
};

/** Minimum time for which what was observed of the code counts for later windows. */
const MIN_RECENT_MS = 15_000;
/** Minimum length of the last window: a shorter one shows nothing. */
const MIN_LAST_MS = 1000;
/** How long the end of the service remains unnoticed. */
const POLL_MS = 500;
/** How long to wait for samples; a busy loop takes them late. */
const SAMPLE_TIMEOUT_MS = 1000;
/** Samples before a period that are kept: counters are interpolated between samples, and a busy loop takes them late. */
const KEPT_MS = 10_000;

/** Runs a watch; see `watch()`. */
export async function* runWatch(options: WatchOptions): AsyncGenerator<WatchReport, void> {
  checkOptions(options, WATCH_OPTIONS);
  const { pid, port = null, attach = false } = options;
  const signal = options.signal ?? new AbortController().signal;
  const until = options.until === undefined ? null : parseUntil(options.until, 'until');
  const intervalMs = readInterval(options.interval, until);
  const verdict = checkPid(pid);
  if (verdict !== 'ok') throw usageError(verdict);
  signal.throwIfAborted();
  const hub = await openProbeHub({ http2: true });
  const watch = new Watch({ pid, port, until, intervalMs, hub });
  try {
    await watch.begin(attach, signal);
    yield* watch.run(signal);
  } finally {
    watch.stop();
    await hub.close();
  }
}

function readInterval(interval: WatchOptions['interval'], until: Until | null): number {
  if (interval === undefined) return until ? WATCH_DEFAULTS.untilMs : WATCH_DEFAULTS.intervalMs;
  const ms = parseDuration(interval, 'interval');
  const { min, max } = WATCH_INTERVAL_MS;
  if (ms < min || ms > max) {
    throw usageError(
      `interval must be from ${min / 1000}s to ${max / 60_000}min (got ${ms / 1000}s)`,
    );
  }
  return ms;
}

interface WatchSettings {
  pid: number;
  port: number | null;
  until: Until | null;
  intervalMs: number;
  hub: ProbeHub;
}

/** A running watch: windows, one after the other, of which some are reported. */
class Watch {
  readonly #settings: WatchSettings;
  readonly #stepMs: number;
  readonly #processes: WatchedProcesses;
  readonly #memory = new WatchMemory();
  #period: WatchPeriod;
  /** Begin of the window that is observed now, and of the one before it. */
  #stepFromMs: number;
  #lastFromMs: number;
  /** What the window before said, and the last report. */
  #lastLimit: string | null = null;
  #reportedLimit: string | null = null;
  #isReported = false;
  /** The last profile of a busy loop, and the last waits with the requests in handlers meanwhile. */
  #profile: Timed<{ view: ProfileView }> | null = null;
  #waits: Timed<{ observed: ObservedWaits; inHandlers: number }> | null = null;
  /** Why processes could not be attached. */
  #notAttached: string[] = [];

  constructor(settings: WatchSettings) {
    const { pid, port, until, intervalMs, hub } = settings;
    this.#settings = settings;
    this.#stepMs = until ? intervalMs : Math.min(WATCH_DEFAULTS.stepMs, intervalMs);
    this.#processes = new WatchedProcesses(pid, hub);
    this.#period = new WatchPeriod(pid, port, hub);
    this.#stepFromMs = this.#lastFromMs = this.#period.fromMs;
  }

  /** Connects to the processes of the service. */
  async begin(attach: boolean, signal: AbortSignal): Promise<void> {
    const { pid, port, hub } = this.#settings;
    if (port !== null) hub.setPorts([port]);
    await this.#processes.update();
    if (attach && !this.#processes.isAnyObserved) {
      const endpoint = port === null ? null : { host: 'localhost', port };
      this.#notAttached = await attachProbes(pid, endpoint, hub, signal, true);
    }
    this.#checkVisible();
    this.#beginPeriod();
  }

  /** Refuses to wait for a condition that is not seen. A process that serves may be yet to start. */
  #checkVisible(): void {
    const { until } = this.#settings;
    if (until === null || this.#processes.isAnyConnected) return;
    const why = this.#processes.describeAllGaps().join('; ');
    if (why === '') return;
    throw usageError(`cannot wait for ${until.text}: the requests are not observed; ${why}`);
  }

  /** Observes windows until the watch ends. */
  async *run(signal: AbortSignal): AsyncGenerator<WatchReport, void> {
    const { until } = this.#settings;
    for (;;) {
      const hasEnded = !(await this.#wait(signal));
      if (signal.aborted) return;
      const nowMs = performance.now();
      const step = await this.#observeStep(nowMs);
      if (hasEnded) {
        const isShort = nowMs - this.#stepFromMs < MIN_LAST_MS;
        const last = isShort ? this.#period.observe(this.#period.fromMs, nowMs) : step;
        yield this.#publish('ended', this.#report(last));
        return;
      }
      const { limit } = this.#report(step).verdict;
      const isSeen = step.inside !== null || this.#processes.isAnyObserved;
      const value = isSeen ? (until?.findValue(step.load) ?? null) : null;
      if (until && value !== null) {
        const report = await this.#reportFrom('condition', this.#stepFromMs, nowMs);
        const verdict = judgeCondition(report.verdict, until);
        yield { ...report, verdict, condition: { condition: until.text, value } };
        return;
      }
      const fromMs = this.#findWindow(limit, nowMs);
      this.#lastLimit = limit;
      if (until) this.#beginPeriod();
      else if (fromMs) yield await this.#reportFrom(fromMs.reason, fromMs.ms, nowMs);
      else this.#beginStep();
      await this.#processes.update();
    }
  }

  /** Begins another window of the same period. */
  #beginStep(): void {
    this.#lastFromMs = this.#stepFromMs;
    this.#stepFromMs = performance.now();
  }

  /** Finds the window to report on, by what its last step said; `null` if there is nothing to report yet. */
  #findWindow(limit: string | null, nowMs: number): { reason: WatchReason; ms: number } | null {
    if (!this.#isReported) return { reason: 'start', ms: this.#period.fromMs };
    if (limit === this.#lastLimit && limit !== this.#reportedLimit) {
      return { reason: 'limit-changed', ms: this.#lastFromMs };
    }
    const { intervalMs } = this.#settings;
    const isDue = nowMs - this.#period.fromMs >= intervalMs - this.#stepMs / 2;
    return isDue ? { reason: 'interval', ms: this.#period.fromMs } : null;
  }

  /** Waits for the end of the window. Returns whether the service still runs. */
  async #wait(signal: AbortSignal): Promise<boolean> {
    const untilMs = this.#stepFromMs + this.#stepMs;
    while (performance.now() < untilMs && !signal.aborted) {
      if (!isRunning(this.#settings.pid)) return false;
      const ms = Math.min(POLL_MS, Math.max(1, untilMs - performance.now()));
      await sleep(ms, undefined, { signal }).catch(() => {});
    }
    return isRunning(this.#settings.pid);
  }

  async #observeStep(nowMs: number): Promise<Observation> {
    await this.#settings.hub.requestSamples(nowMs, SAMPLE_TIMEOUT_MS);
    const step = this.#period.observe(this.#stepFromMs, nowMs);
    this.#memory.add(step);
    return step;
  }

  #report(block: Observation): WindowReport {
    const { pid, port, hub } = this.#settings;
    const isProfileOf = isWorthProfile(block) && this.#isRecent(this.#profile);
    const code = {
      profile: isProfileOf ? (this.#profile?.view ?? null) : null,
      waits: this.#areWaitsOf(block) ? (this.#waits?.observed ?? null) : null,
    };
    return reportWindow(block, this.#memory, hub.heapExhaustions, code, {
      connected: hub.processes,
      isNode: (one) => isNode(one) !== false,
      port,
      listeningPorts: port === null ? [] : findListeningSockets(pid).map((one) => one.port),
    });
  }

  /** Whether something was observed at most about an interval ago. */
  #isRecent(last: Timed<object> | null): boolean {
    const maxMs = Math.max(MIN_RECENT_MS, 1.5 * this.#settings.intervalMs);
    return last !== null && performance.now() - last.atMs <= maxMs;
  }

  /** Whether the waits were observed under about the load of a window. */
  #areWaitsOf(block: Observation): boolean {
    const waits = this.#waits;
    if (waits === null || !this.#isRecent(waits)) return false;
    return isWorthWaits(block) && isSimilarLoad(block, waits.inHandlers);
  }

  /** Reports on a window, with a profile and the waits observed after it. Waits are left out if the load has changed. */
  async #reportFrom(reason: WatchReason, fromMs: number, toMs: number): Promise<WatchReport> {
    const block = this.#period.observe(fromMs, toMs);
    // The next window begins where this one ends.
    this.#beginPeriod();
    if (isWorthProfile(block)) await this.#takeProfile();
    const isWorth = isWorthWaits(block);
    if (isWorth) await this.#observeWaits();
    const isOver = isWorth && this.#waits !== null && !this.#areWaitsOf(block);
    return this.#publish(reason, this.#report(block), isOver ? [WAITS_OVER] : []);
  }

  /** Profiles the busy loop. The processes refuse that soon after the last time, whose profile counts then. */
  async #takeProfile(): Promise<void> {
    const profile = await takeProfile(this.#settings.hub, WATCH_DEFAULTS.profileMs);
    const atMs = performance.now();
    if (profile) this.#profile = { view: analyzeProfile(profile.raw), atMs };
    else if (!isWithinPause(this.#profile)) this.#profile = null;
  }

  /** Observes what requests wait for; it is refused as a profile is. */
  async #observeWaits(): Promise<void> {
    const { hub } = this.#settings;
    const fromMs = performance.now();
    const how = { ms: WATCH_DEFAULTS.waitsMs, depth: EXPLAIN_DEFAULTS.waitStacks };
    const paths = toWaitPaths(await hub.commandEach('waits', how));
    if (paths.length === 0) {
      if (!isWithinPause(this.#waits)) this.#waits = null;
      return;
    }
    const toMs = performance.now();
    await hub.requestSamples(toMs, SAMPLE_TIMEOUT_MS);
    const inHandlers = hub.between(fromMs, toMs)?.inFlight ?? 0;
    this.#waits = { observed: { paths, cost: null }, inHandlers, atMs: toMs };
  }

  /** Completes a report, and begins a new period. */
  #publish(reason: WatchReason, report: WindowReport, gaps: string[] = []): WatchReport {
    const { pid } = this.#settings;
    const { limit } = report.verdict;
    const isOther = reason === 'interval' && limit !== this.#reportedLimit;
    this.#isReported = true;
    this.#lastLimit = this.#reportedLimit = limit;
    const cannotSee = [...gaps, ...this.#notAttached, ...this.#listGaps(reason, report)];
    return {
      schemaVersion: 1,
      reason: isOther ? 'limit-changed' : reason,
      pid,
      ...report,
      cannotSee,
    };
  }

  #listGaps(reason: WatchReason, { processes, traffic }: WindowReport): string[] {
    const { pid } = this.#settings;
    if (reason === 'ended') return [];
    // A supervisor, or a process that serves nothing, needs no probe.
    const pids = processes
      .filter(({ isObserved, run }) => !isObserved && (traffic === null || run > MIN_RUN))
      .map((one) => one.pid);
    return [
      ...this.#processes.describeGaps(pids.length > 0 || traffic !== null ? pids : [pid]),
      ...findVisibilityGaps(pid, { host: 'localhost', port: 0 }, true),
    ];
  }

  #beginPeriod(): void {
    const { pid, port, hub } = this.#settings;
    this.#period.stop();
    this.#period = new WatchPeriod(pid, port, hub);
    hub.forgetBefore(this.#period.fromMs - KEPT_MS);
    this.#stepFromMs = this.#lastFromMs = this.#period.fromMs;
  }

  stop(): void {
    this.#period.stop();
  }
}

/** What was observed of the code, with the time of its end. */
type Timed<Observed> = Observed & { atMs: number };

/** Whether the processes still refuse another observation after the last one, which began some seconds before its end. */
function isWithinPause(last: Timed<object> | null): boolean {
  return last !== null && performance.now() - last.atMs < MIN_PAUSE_MS;
}

const WAITS_OVER =
  'what the requests waited for: the load had changed by the time it was observed, after the window';

/** Share of a core from which on a process that is not seen from inside is named beside one that is. */
const MIN_RUN = 0.05;
