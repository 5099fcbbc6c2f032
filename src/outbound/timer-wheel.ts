import { AsyncResource } from 'node:async_hooks';
import { clearTimeout, LONGEST_TIMER, now, setImmediate, setTimeout } from './clock.js';

/**
 * Something that wants to be looked at, at a time. What every call has is declared and put in by constructors: fields
 * with a value are put in by one more function for each class, which showed in what a call of undici costs (`npm run
 * bench -- deadlines`).
 */
export abstract class Watched {
  /** When it wants to be looked at next, on the clock of `now`; to be set before `watch`. */
  declare due: number;
  /** Among all that is watched; -1: it is not. */
  declare place: number;
  declare readonly begun: number;

  constructor() {
    this.due = 0;
    this.place = -1;
    this.begun = now();
  }

  get isWatched(): boolean {
    return this.place >= 0;
  }

  /** Its time has come. It may say a later one, or `unwatch` itself. */
  abstract check(at: number): void;
  /** So many milliseconds, up to now, do not count: the process was busy with itself. */
  excuse(ms: number): void {
    this.due += ms;
  }
}

/** Between two looks. */
const LEAST_INTERVAL = 10;
/** A timer that is late by less tells of nothing but timers. */
const LEAST_STALL = 20;
/** What runs by the timer is nobody's: not in the context of the call that happened to start it. */
const nobody = new AsyncResource('MILLRACE_DEADLINES', { requireManualDestroy: true });

/**
 * All that is watched has one timer, so that a call costs a place in a list, in no order. Most of what is watched goes
 * before its time comes: then nothing was done for it at all.
 */
const watched: Watched[] = [];
let timer: NodeJS.Timeout | null = null;
let planned = Number.POSITIVE_INFINITY;
let lookedAt = 0;

export function scheduleTimeout(entry: Watched): void {
  entry.place = watched.length;
  watched.push(entry);
  if (entry.due < planned) plan(entry.due);
}

export function cancelTimeout(entry: Watched): void {
  const { place } = entry;
  if (place < 0) return;
  entry.place = -1;
  const last = watched.pop();
  if (last === undefined || last === entry) return;
  watched[place] = last;
  last.place = place;
}

function plan(due: number): void {
  const at = Math.max(due, lookedAt + LEAST_INTERVAL);
  if (at >= planned) return;
  planned = at;
  if (timer !== null) clearTimeout(timer);
  const wait = Math.min(Math.ceil(at - now()), LONGEST_TIMER);
  timer = nobody.runInAsyncScope(startTimer, undefined, Math.max(wait, 1));
}

function startTimer(ms: number): NodeJS.Timeout {
  return setTimeout(afterArrivals, ms).unref();
}

/** What has arrived while the loop was busy comes first: a peer is not late for that. Nor for the time itself: `excuseAll`. */
function afterArrivals(): void {
  setImmediate(look);
}

function look(): void {
  const at = now();
  excuseAll(planned, at);
  timer = null;
  planned = Number.POSITIVE_INFINITY;
  lookedAt = at;
  const late: Watched[] = [];
  let soonest = Number.POSITIVE_INFINITY;
  for (const entry of watched) {
    if (entry.due <= at) late.push(entry);
    else if (entry.due < soonest) soonest = entry.due;
  }
  for (const entry of late) {
    // A check may end other calls, by what the application does about it.
    if (entry.isWatched) checkSafely(entry, at);
    if (entry.isWatched && entry.due < soonest) soonest = entry.due;
  }
  if (soonest < Number.POSITIVE_INFINITY) plan(soonest);
}

/**
 * The look comes late where the loop stood still, and a host can do nothing about that: names that are found,
 * connections and answers all wait for the loop, and each of them for another turn.
 */
function excuseAll(since: number, at: number): void {
  if (at - since < LEAST_STALL) return;
  for (const entry of watched) {
    entry.excuse(at - Math.max(since, entry.begun));
  }
}

/** What the application throws is its own matter, and no other call's. */
function checkSafely(entry: Watched, at: number): void {
  try {
    entry.check(at);
  } catch (error) {
    cancelTimeout(entry);
    process.nextTick(() => {
      throw error;
    });
  }
}
