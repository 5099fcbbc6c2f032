import { closeSync, openSync, readSync } from 'node:fs';
import type { StallCounters } from '../protocol.cjs';
import { afterPoll, every, now } from '../runtime/clock.cjs';
import { countsEvents, loopAccount } from '../runtime/event-loop.cjs';
import type { GarbageCollections } from '../runtime/gc.cjs';
import type { Requests } from './requests.cjs';

const LEAST_MS = 20;
const TICK_MS = 5;
/** What an event or a response costs outside of handlers' synchronous parts, until enough of them were seen. */
const ASSUMED_MS = 0.1;
const ENOUGH = 100;
/** So many responses in one stretch are a batch; with fewer what goes on besides would be taken for theirs. */
const BATCH = 3;
const NO_REQUEST = 'not a request';
const COLLECTION = 'garbage collection';

interface Held {
  what: string;
  from: number;
  to: number;
  ms: number;
}

interface Mark {
  at: number;
  idleMs: number;
  queuedMs: number;
  events: number;
  ended: number;
  syncMs: number;
}

/**
 * Times in which one callback held the loop for 20 ms or more.
 *
 * A request's synchronous part is timed itself. For everything else there is a timer of 5 ms: what remains of the time
 * between two of its ticks without the loop's waiting, without the wait for a core, without the requests' synchronous
 * parts, and without what its events usually cost, or its responses, was one callback. So a full batch of many short ones
 * is no stall: of many requests that come, or that go on in one turn after what they have waited for.
 */
export class LoopStalls {
  readonly counters = { stalls: 0, stallMs: 0, stallSquaredMs: 0 };
  longestMs = 0;
  readonly #by = new Map<string, StallCounters>();
  readonly #changed = new Set<string>();
  readonly #requests: Requests;
  readonly #collections: GarbageCollections;
  readonly #queue = new RunQueue();
  #timer: NodeJS.Timeout | null = null;
  #last: Mark | null = null;
  #requestsHeld: Held[] = [];
  #usual = { ms: 0, events: 0, ended: 0 };

  constructor(requests: Requests, collections: GarbageCollections) {
    this.#requests = requests;
    this.#collections = collections;
  }

  observe(on: boolean): void {
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    this.#requestsHeld = [];
    if (on) {
      this.#queue.open();
      this.#last = this.#mark();
      this.#timer = every(TICK_MS, () => this.#tick());
    } else {
      this.#queue.close();
    }
  }

  /** A request's synchronous part has ended. */
  requestHeld(what: string, from: number, to: number): void {
    const ms = to - from;
    if (ms >= LEAST_MS && this.#timer) this.#requestsHeld.push({ what, from, to, ms });
  }

  read(): Record<string, StallCounters> {
    const changed: Record<string, StallCounters> = {};
    for (const what of this.#changed) {
      const counters = this.#by.get(what);
      if (counters) changed[what] = counters;
    }
    this.#changed.clear();
    return changed;
  }

  #mark(): Mark {
    const { counters, syncMs } = this.#requests;
    const { idleMs, events } = loopAccount();
    return {
      at: now(),
      idleMs,
      queuedMs: this.#queue.readMs(),
      events: countsEvents ? events : counters.begun + counters.ended,
      ended: counters.ended,
      syncMs,
    };
  }

  #tick(): void {
    const from = this.#last;
    const to = this.#mark();
    this.#last = to;
    const requests = this.#requestsHeld;
    this.#requestsHeld = [];
    if (!from) return;
    const queuedMs = to.queuedMs - from.queuedMs;
    const busyMs = to.at - from.at - (to.idleMs - from.idleMs);
    const held = busyMs - queuedMs;
    const events = to.events - from.events;
    const ended = to.ended - from.ended;
    const others = held - (to.syncMs - from.syncMs);
    if (held < LEAST_MS) {
      this.#usual.ms += Math.max(0, others);
      this.#usual.events += events;
      this.#usual.ended += ended;
      return;
    }
    // When within that time it had no core is not known: evenly.
    const long = requests.map((one) => ({ ...one, ms: (one.ms * held) / busyMs }));
    const { ms, ...usual } = this.#usual;
    const byEvents = events * each(ms, usual.events);
    const byResponses = ended < BATCH ? 0 : ended * each(ms, usual.ended);
    const rest = others - Math.max(byEvents, byResponses);
    long.push({ what: NO_REQUEST, from: from.at, to: to.at, ms: rest });
    const stalls = long.filter(({ ms }) => ms >= LEAST_MS);
    // Collections are told at the end of the iteration in which they are noticed.
    if (stalls.length > 0) afterPoll(() => afterPoll(() => stalls.forEach(this.#add)));
  }

  readonly #add = ({ what, from, to, ms }: Held) => {
    const collected = this.#collections.between(from, to);
    const name = collected >= ms / 2 ? COLLECTION : what;
    const by = this.#by.get(name) ?? { ms: 0, count: 0 };
    this.#by.set(name, { ms: by.ms + ms, count: by.count + 1 });
    this.#changed.add(name);
    this.counters.stalls++;
    this.counters.stallMs += ms;
    this.counters.stallSquaredMs += ms * ms;
    if (ms > this.longestMs) this.longestMs = ms;
  };
}

function each(ms: number, count: number): number {
  return count < ENOUGH ? ASSUMED_MS : ms / count;
}

/** How long the main thread was ready to run without a core; 0 where the system does not tell. */
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

// Taken before the application or a test can replace it.
const read = readSync;
