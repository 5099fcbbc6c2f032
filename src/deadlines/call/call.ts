import { now } from '../../outbound/clock.js';
import type { DeadlineFacts, WaitingFor } from '../../outbound/errors.js';
import type { DeadlineName } from '../../outbound/limits.js';
import { cancelTimeout, scheduleTimeout, TimerEntry } from '../../outbound/timer-wheel.js';
import { type CallEnded, callEndChannel, type LimitReached, limitHitChannel } from '../channels.js';
import type { Host } from '../hosts.js';

/** What a call is doing. */
export type CallStage =
  /** It waits for a connection: in a queue, or until one is open. */
  | 'waiting'
  /** The application writes or reads at its own pace: the peer is not late. */
  | 'application'
  | 'headers'
  | 'body'
  /** It receives a stream of records, which may last as long as something arrives. */
  | 'records'
  /** It receives a stream of events, which may be idle and last as long as it likes. */
  | 'unbounded'
  | 'ended';

/** Timeouts that the application has set, in milliseconds; 0: none. */
export interface ApplicationLimits {
  headers?: number;
  idle?: number;
  /** Whether it has a timeout for the whole call. */
  total?: boolean;
}

const WAITING_FOR: Partial<Record<CallStage, WaitingFor>> = {
  waiting: 'a connection',
  headers: 'the response headers',
};

/** The progress of a call, updated by its checks. */
class CallProgress {
  /** When bytes were last seen to move. */
  progressAt: number;
  /** Milliseconds for which it waited for the application or the event loop. */
  pausedMs = 0;
  limitHit: DeadlineName | null = null;
  isStreaming = false;
  private checkedAt: number;
  private bytes = -1;

  constructor(startedAt: number) {
    this.progressAt = startedAt;
    this.checkedAt = startedAt;
  }

  update(isPaused: boolean, bytes: number, at: number): void {
    if (isPaused) this.pausedMs += at - this.checkedAt;
    if (isPaused || bytes !== this.bytes) this.progressAt = at;
    this.bytes = bytes;
    this.checkedAt = at;
  }

  addIdleTime(ms: number): void {
    this.pausedMs += ms;
    this.progressAt += ms;
    this.checkedAt += ms;
  }
}

/**
 * A call with limits. Nothing is done on its way: it is checked from time to time, and most calls end before their
 * first check. A check reads what the call is doing from the library's own objects.
 */
export abstract class LimitedCall extends TimerEntry {
  declare protected host: Host;
  /** Set by the first check. */
  declare private progress: CallProgress | null;

  protected abstract readonly by: CallEnded['by'];
  protected abstract findStage(): CallStage;
  /** Returns a number that changes when bytes move. */
  protected abstract countBytes(): number;
  protected abstract readApplicationLimits(): ApplicationLimits;
  protected abstract createError(facts: DeadlineFacts, waitingFor: WaitingFor): Error;
  /** Ends the call and its connection; `isSilent`: no bytes have moved on that for the whole limit. */
  protected abstract fail(error: Error, isSilent: boolean): void;

  constructor(host: Host) {
    super();
    this.host = host;
    this.progress = null;
    host.counters.calls++;
    host.counters.inFlight++;
    // An integer is not allocated on the heap.
    this.dueAt = Math.ceil(this.startedAt) + host.checkIntervalMs;
    scheduleTimeout(this);
  }

  /** Moves the call to another host than that of its URL. */
  moveTo(host: Host): void {
    if (!this.isScheduled || host === this.host) return;
    for (const [{ counters }, one] of [
      [this.host, -1],
      [host, 1],
    ] as const) {
      counters.calls += one;
      counters.inFlight += one;
    }
    this.host = host;
    // The other host may need earlier checks.
    cancelTimeout(this);
    this.dueAt = Math.min(this.dueAt, Math.ceil(now()) + host.checkIntervalMs);
    scheduleTimeout(this);
  }

  /** Called when the call has ended in any way. */
  end(): void {
    if (!this.isScheduled) return;
    cancelTimeout(this);
    const elapsedMs = now() - this.startedAt;
    const { host, by, progress } = this;
    // The duration of a stream says nothing about its host.
    host.counters.recordEnd(progress?.isStreaming ? null : elapsedMs);
    if (callEndChannel.hasSubscribers) {
      const limit = progress?.limitHit ?? null;
      callEndChannel.publish({ host: host.name, by, elapsedMs, limit } satisfies CallEnded);
    }
  }

  override addIdleTime(ms: number): void {
    this.progress ??= new CallProgress(this.startedAt);
    this.progress.addIdleTime(ms);
  }

  onDue(at: number): void {
    const stage = this.findStage();
    if (stage === 'ended') {
      this.end();
      return;
    }
    this.progress ??= new CallProgress(this.startedAt);
    if (stage === 'unbounded') {
      this.progress.isStreaming = true;
      this.dueAt = Number.POSITIVE_INFINITY;
      return;
    }
    if (stage === 'records') this.progress.isStreaming = true;
    this.progress.update(stage === 'application', this.countBytes(), at);
    this.checkLimits(this.progress, stage, at);
  }

  private checkLimits(progress: CallProgress, stage: CallStage, at: number): void {
    const { host } = this;
    const applicationLimits = this.readApplicationLimits();
    const total = stage === 'records' ? 0 : computeTotalLimit(host, applicationLimits);
    const stageMs = findStageLimit(stage, host, applicationLimits);
    const totalEnd = computeEnd(this.startedAt + progress.pausedMs, total);
    const stageEnd = computeEnd(progress.progressAt, stageMs);
    const stageLimit = isInBody(stage) ? 'idle' : 'headers';
    if (at >= totalEnd) this.expire(progress, ['total', total], stage, at);
    else if (at >= stageEnd) this.expire(progress, [stageLimit, stageMs], stage, at);
    else this.dueAt = Math.min(at + host.checkIntervalMs, totalEnd, stageEnd);
  }

  private expire(
    progress: CallProgress,
    [limit, limitMs]: [DeadlineName, number],
    stage: CallStage,
    at: number,
  ): void {
    const { host, by } = this;
    const elapsedMs = at - this.startedAt;
    const facts = { limit, limitMs, host: host.name, elapsedMs };
    const error = this.createError(facts, WAITING_FOR[stage] ?? 'the rest of the body');
    progress.limitHit = limit;
    this.dueAt = Number.POSITIVE_INFINITY;
    host.counters.hits[limit]++;
    if (limitHitChannel.hasSubscribers) {
      limitHitChannel.publish({ ...facts, by, error } satisfies LimitReached);
    }
    // The first check comes one interval after the beginning, and sees all bytes moved until then.
    this.fail(error, at - progress.progressAt >= limitMs - 2 * host.checkIntervalMs);
  }
}

/** Computes the total limit: a timeout of the application for a part is added, so that it fires first. */
function computeTotalLimit({ limits }: Host, { headers, idle, total }: ApplicationLimits): number {
  if (limits.total === 0 || total || headers === 0 || idle === 0) return 0;
  return limits.total + Math.max(headers ?? 0, idle ?? 0);
}

/** Finds the limit of a stage; 0: none. */
function findStageLimit(stage: CallStage, { limits }: Host, own: ApplicationLimits): number {
  if (own.total) return 0;
  if (stage === 'headers') return own.headers === undefined ? limits.headers : 0;
  if (isInBody(stage)) return own.idle === undefined ? limits.idle : 0;
  return 0;
}

function isInBody(stage: CallStage): boolean {
  return stage === 'body' || stage === 'records';
}

function computeEnd(since: number, limit: number): number {
  return limit > 0 ? since + limit : Number.POSITIVE_INFINITY;
}
