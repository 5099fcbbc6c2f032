import { now } from '../../outbound/clock.js';
import type { DeadlineFacts, WaitingFor } from '../../outbound/errors.js';
import type { DeadlineName } from '../../outbound/limits.js';
import { cancelTimeout, scheduleTimeout, Watched } from '../../outbound/timer-wheel.js';
import { type CallEnded, endChannel, hitChannel, type LimitReached } from '../channels.js';
import type { Host } from '../hosts.js';

/** Where a call stands. */
export type Stage =
  /** It waits for a connection, in a queue or until it is open. */
  | 'waiting'
  /** The application writes, or reads, at its own pace: nobody else is late. */
  | 'application'
  | 'headers'
  | 'body'
  /** A stream of records: it may last as long as it likes, as long as something comes. */
  | 'records'
  /** A stream of events: it may be silent, and last, as long as it likes. */
  | 'unbound'
  | 'ended';

/** Limits that the application has set itself, in milliseconds; 0: none is wanted. */
export interface ApplicationLimits {
  headers?: number;
  idle?: number;
  /** There is one for the whole call. */
  total?: boolean;
}

const WAITING_FOR: Partial<Record<Stage, WaitingFor>> = {
  waiting: 'a connection',
  headers: 'the response headers',
};

/** How a call went so far. */
class Course {
  /** When it was last seen to get on. */
  since: number;
  /** Milliseconds for which it waited for the application, or for the process. */
  held = 0;
  hit: DeadlineName | null = null;
  isUnbound = false;
  private looked: number;
  private progress = -1;

  constructor(begun: number) {
    this.since = begun;
    this.looked = begun;
  }

  keep(isHeld: boolean, progress: number, at: number): void {
    if (isHeld) this.held += at - this.looked;
    if (isHeld || progress !== this.progress) this.since = at;
    this.progress = progress;
    this.looked = at;
  }

  excuse(ms: number): void {
    this.held += ms;
    this.since += ms;
    this.looked += ms;
  }
}

/**
 * One call under its limits. Nothing is done for it on its way: it is looked at from time to time, and most calls have
 * ended before the first look. What a call is doing is then read off the library's own objects.
 */
export abstract class Call extends Watched {
  declare private host: Host;
  /** From the first look on. */
  declare private course: Course | null;

  protected abstract readonly by: CallEnded['by'];
  protected abstract stage(): Stage;
  /** A number that changes when bytes come or go. */
  protected abstract progress(): number;
  protected abstract own(): ApplicationLimits;
  protected abstract errorFor(facts: DeadlineFacts, waitingFor: WaitingFor): Error;
  /** Ends the call, and its connection; `isSilent`: nothing has come or gone on that for the whole time. */
  protected abstract fail(error: Error, isSilent: boolean): void;

  constructor(host: Host) {
    super();
    this.host = host;
    this.course = null;
    host.counters.calls++;
    host.counters.inFlight++;
    // Whole numbers are no objects.
    this.due = Math.ceil(this.begun) + host.interval;
    scheduleTimeout(this);
  }

  /** It goes to another host than its URL says. */
  moveTo(host: Host): void {
    if (!this.isWatched || host === this.host) return;
    for (const [{ counters }, one] of [
      [this.host, -1],
      [host, 1],
    ] as const) {
      counters.calls += one;
      counters.inFlight += one;
    }
    this.host = host;
    // It may have to be looked at sooner.
    cancelTimeout(this);
    this.due = Math.min(this.due, Math.ceil(now()) + host.interval);
    scheduleTimeout(this);
  }

  /** The call has ended, somehow. */
  end(): void {
    if (!this.isWatched) return;
    cancelTimeout(this);
    const elapsedMs = now() - this.begun;
    const { host, by, course } = this;
    // How long somebody listened to a stream of events says nothing about its host.
    host.counters.ended(course?.isUnbound ? null : elapsedMs);
    if (endChannel.hasSubscribers) {
      const limit = course?.hit ?? null;
      endChannel.publish({ host: host.name, by, elapsedMs, limit } satisfies CallEnded);
    }
  }

  override excuse(ms: number): void {
    this.course ??= new Course(this.begun);
    this.course.excuse(ms);
  }

  check(at: number): void {
    const stage = this.stage();
    if (stage === 'ended') {
      this.end();
      return;
    }
    this.course ??= new Course(this.begun);
    if (stage === 'unbound') {
      this.course.isUnbound = true;
      this.due = Number.POSITIVE_INFINITY;
      return;
    }
    if (stage === 'records') this.course.isUnbound = true;
    this.course.keep(stage === 'application', this.progress(), at);
    this.compare(this.course, stage, at);
  }

  private compare(course: Course, stage: Stage, at: number): void {
    const { host } = this;
    const own = this.own();
    const total = stage === 'records' ? 0 : totalLimit(host, own);
    const patience = patienceFor(stage, host, own);
    const totalEnd = endOf(this.begun + course.held, total);
    const patienceEnd = endOf(course.since, patience);
    const patienceName = hasBegun(stage) ? 'idle' : 'headers';
    if (at >= totalEnd) this.reach(course, ['total', total], stage, at);
    else if (at >= patienceEnd) this.reach(course, [patienceName, patience], stage, at);
    else this.due = Math.min(at + host.interval, totalEnd, patienceEnd);
  }

  private reach(
    course: Course,
    [limit, limitMs]: [DeadlineName, number],
    stage: Stage,
    at: number,
  ): void {
    const { host, by } = this;
    const elapsedMs = at - this.begun;
    const facts = { limit, limitMs, host: host.name, elapsedMs };
    const error = this.errorFor(facts, WAITING_FOR[stage] ?? 'the rest of the body');
    course.hit = limit;
    this.due = Number.POSITIVE_INFINITY;
    host.counters.hits[limit]++;
    if (hitChannel.hasSubscribers) {
      hitChannel.publish({ ...facts, by, error } satisfies LimitReached);
    }
    // The first look comes an interval after the beginning, and sees what has happened until then.
    this.fail(error, at - course.since >= limitMs - 2 * host.interval);
  }
}

/** What the application allows for a part comes on top, so that its own limit is met first. */
function totalLimit({ limits }: Host, { headers, idle, total }: ApplicationLimits): number {
  if (limits.total === 0 || total || headers === 0 || idle === 0) return 0;
  return limits.total + Math.max(headers ?? 0, idle ?? 0);
}

/** The limit of this stage alone. */
function patienceFor(stage: Stage, { limits }: Host, own: ApplicationLimits): number {
  if (own.total) return 0;
  if (stage === 'headers') return own.headers === undefined ? limits.headers : 0;
  if (hasBegun(stage)) return own.idle === undefined ? limits.idle : 0;
  return 0;
}

function hasBegun(stage: Stage): boolean {
  return stage === 'body' || stage === 'records';
}

function endOf(since: number, limit: number): number {
  return limit > 0 ? since + limit : Number.POSITIVE_INFINITY;
}
