import { closeSync, openSync, readSync } from 'node:fs';
import type { StallCounters } from '../protocol.cjs';
import { afterPoll, every, ignoreErrors, now, timers } from '../runtime/clock.cjs';
import { hasEventCounts, readLoopTimes } from '../runtime/event-loop.cjs';
import type { GarbageCollections } from '../runtime/gc.cjs';
import type { Requests } from './requests.cjs';

const MIN_STALL_MS = 20;
const TICK_MS = 5;
/**
 * Time between two ticks in production, while the loop works and while it is idle: to wake an idle loop costs more than what
 * is measured. Of a loop that hardly works a long time is as clear as a short one.
 */
const [SPARING_TICK_MS, IDLE_TICK_MS] = [10, 50];
/** Share of the time between two ticks in which an idle loop works at most. */
const MAX_IDLE_WORK = 0.1;
/** Assumed cost of an event or a response, synchronous parts of handlers excluded, until enough have been seen. */
const DEFAULT_COST_MS = 0.1;
const MIN_COST_SAMPLES = 100;
/** Minimum number of responses that form a batch. With fewer, unrelated work would be attributed to them. */
const MIN_BATCH_RESPONSES = 3;
const NO_REQUEST = 'not a request';
const COLLECTION = 'garbage collection';

interface Stall {
  cause: string;
  from: number;
  to: number;
  ms: number;
}

interface LoopReading {
  at: number;
  idleMs: number;
  queuedMs: number;
  events: number;
  ended: number;
  syncMs: number;
}

/**
 * Finds times in which one callback blocked the loop for 20 ms or more.
 *
 * The synchronous part of a request is timed directly. Everything else is inferred by a 5 ms timer: the time between
 * two ticks, minus idle time, minus waiting for a core, minus the synchronous parts of requests, minus the usual cost
 * of the events or responses in that time, was a single callback. So a batch of many short callbacks is no stall,
 * whether they are new requests or requests that continue in one turn after waiting.
 */
export class LoopStalls {
  readonly counters = { stalls: 0, stallMs: 0, stallSquaredMs: 0 };
  longestMs = 0;
  readonly #byCause = new Map<string, StallCounters>();
  readonly #changed = new Set<string>();
  readonly #requests: Requests;
  readonly #collections: GarbageCollections;
  readonly #queue = new RunQueue();
  /** Whether it has to cost as little as possible. */
  readonly #isSparing: boolean;
  #timer: NodeJS.Timeout | null = null;
  #last: LoopReading | null = null;
  #longRequests: Stall[] = [];
  #shortWork = { ms: 0, events: 0, ended: 0 };

  constructor(requests: Requests, collections: GarbageCollections, isSparing: boolean) {
    this.#isSparing = isSparing;
    this.#requests = requests;
    this.#collections = collections;
  }

  observe(on: boolean): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#longRequests = [];
    if (on) {
      this.#queue.open();
      this.#last = this.#readLoop();
      this.#timer = this.#isSparing
        ? this.#scheduleTick(SPARING_TICK_MS)
        : every(TICK_MS, () => this.#tick());
    } else {
      this.#queue.close();
    }
  }

  #scheduleTick(ms: number): NodeJS.Timeout {
    const tick = () => {
      const from = this.#last;
      ignoreErrors(() => this.#tick())();
      const to = this.#last;
      const isIdle =
        from && to && to.idleMs - from.idleMs >= (1 - MAX_IDLE_WORK) * (to.at - from.at);
      this.#timer = this.#scheduleTick(isIdle ? IDLE_TICK_MS : SPARING_TICK_MS);
    };
    return timers.setTimeout(tick, ms).unref();
  }

  /** Adds the synchronous part of a request. */
  addSynchronousPart(cause: string, from: number, to: number): void {
    const ms = to - from;
    if (ms >= MIN_STALL_MS && this.#timer) this.#longRequests.push({ cause, from, to, ms });
  }

  read(): Record<string, StallCounters> {
    const changed: Record<string, StallCounters> = {};
    for (const what of this.#changed) {
      const counters = this.#byCause.get(what);
      if (counters) changed[what] = counters;
    }
    this.#changed.clear();
    return changed;
  }

  #readLoop(): LoopReading {
    const { counters, syncMs } = this.#requests;
    const { idleMs, events } = readLoopTimes();
    return {
      at: now(),
      idleMs,
      queuedMs: this.#queue.readMs(),
      events: hasEventCounts ? events : counters.begun + counters.ended,
      ended: counters.ended,
      syncMs,
    };
  }

  #tick(): void {
    const from = this.#last;
    const to = this.#readLoop();
    this.#last = to;
    const requests = this.#longRequests;
    this.#longRequests = [];
    if (!from) return;
    const queuedMs = to.queuedMs - from.queuedMs;
    const busyMs = to.at - from.at - (to.idleMs - from.idleMs);
    const blockedMs = busyMs - queuedMs;
    const events = to.events - from.events;
    const ended = to.ended - from.ended;
    const otherMs = blockedMs - (to.syncMs - from.syncMs);
    if (blockedMs < MIN_STALL_MS) {
      this.#shortWork.ms += Math.max(0, otherMs);
      this.#shortWork.events += events;
      this.#shortWork.ended += ended;
      return;
    }
    // Waiting for a core is distributed evenly, since its position is unknown.
    const candidates = requests.map((one) => ({ ...one, ms: (one.ms * blockedMs) / busyMs }));
    const { ms, ...usual } = this.#shortWork;
    const byEvents = events * computeMeanCost(ms, usual.events);
    const byResponses = ended < MIN_BATCH_RESPONSES ? 0 : ended * computeMeanCost(ms, usual.ended);
    const unexplainedMs = otherMs - Math.max(byEvents, byResponses);
    candidates.push({ cause: NO_REQUEST, from: from.at, to: to.at, ms: unexplainedMs });
    const stalls = candidates.filter(({ ms }) => ms >= MIN_STALL_MS);
    // Collections are reported at the end of the iteration in which they are noticed.
    if (stalls.length > 0) afterPoll(() => afterPoll(() => stalls.forEach(this.#add)));
  }

  readonly #add = ({ cause, from, to, ms }: Stall) => {
    const collected = this.#collections.sumBetween(from, to);
    const name = collected >= ms / 2 ? COLLECTION : cause;
    const by = this.#byCause.get(name) ?? { ms: 0, count: 0 };
    this.#byCause.set(name, { ms: by.ms + ms, count: by.count + 1 });
    this.#changed.add(name);
    this.counters.stalls++;
    this.counters.stallMs += ms;
    this.counters.stallSquaredMs += ms * ms;
    if (ms > this.longestMs) this.longestMs = ms;
  };
}

function computeMeanCost(ms: number, count: number): number {
  return count < MIN_COST_SAMPLES ? DEFAULT_COST_MS : ms / count;
}

/** Time that the main thread waited for a core; 0 if the system does not report it. */
class RunQueue {
  #file: number | null = null;
  readonly #buffer = Buffer.alloc(128);

  open(): void {
    try {
      this.#file ??= openSync('/proc/self/schedstat', 'r');
    } catch {
      this.#file = null;
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  readMs(): number {
    if (this.#file === null) return 0;
    const length = read(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    const [, queued = '0'] = this.#buffer.toString('latin1', 0, length).split(' ');
    return Number(queued) / 1e6;
  }
}

// Stored before the application or a test can replace it.
const read = readSync;
