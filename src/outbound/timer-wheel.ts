import { AsyncResource } from 'node:async_hooks';
import { clearTimeout, MAX_TIMER_MS, now, setImmediate, setTimeout } from './clock.js';

/**
 * An entry with a time at which it is checked. The fields are declared here and set by the constructor: field
 * initializers run one more function for each class of the hierarchy, which costs a call of undici measurably (`npm
 * run bench -- deadlines`).
 */
export abstract class TimerEntry {
  /** When it is checked next, on the clock of `now`; set before `scheduleTimeout`. */
  declare dueAt: number;
  /** Its index among the scheduled entries; -1: it is not scheduled. */
  declare index: number;
  declare readonly startedAt: number;

  constructor() {
    this.dueAt = 0;
    this.index = -1;
    this.startedAt = now();
  }

  get isScheduled(): boolean {
    return this.index >= 0;
  }

  /** Called when `dueAt` has come; sets a later one, or calls `cancelTimeout`. */
  abstract onDue(at: number): void;
  /** Adds milliseconds, up to now, that do not count, as the event loop was blocked. */
  addIdleTime(ms: number): void {
    this.dueAt += ms;
  }
}

/** Minimum interval between two checks of the entries. */
const MIN_INTERVAL_MS = 10;
/** Minimum delay of a timer that counts as a blocked event loop. */
const MIN_STALL_MS = 20;
/**
 * The asynchronous context of the timer: without it the timer would keep that of the call that happened to start it.
 */
const noContext = new AsyncResource('MILLRACE_DEADLINES', { requireManualDestroy: true });

/**
 * The scheduled entries, in no order. They share one timer, so that an entry costs a push and a pop. Most entries are
 * cancelled before they are due, and are never checked.
 */
const entries: TimerEntry[] = [];
let timer: NodeJS.Timeout | null = null;
let plannedAt = Number.POSITIVE_INFINITY;
let checkedAt = 0;

export function scheduleTimeout(entry: TimerEntry): void {
  entry.index = entries.length;
  entries.push(entry);
  if (entry.dueAt < plannedAt) plan(entry.dueAt);
}

export function cancelTimeout(entry: TimerEntry): void {
  const { index } = entry;
  if (index < 0) return;
  entry.index = -1;
  const last = entries.pop();
  if (last === undefined || last === entry) return;
  entries[index] = last;
  last.index = index;
}

function plan(due: number): void {
  const at = Math.max(due, checkedAt + MIN_INTERVAL_MS);
  if (at >= plannedAt) return;
  plannedAt = at;
  if (timer !== null) clearTimeout(timer);
  const wait = Math.min(Math.ceil(at - now()), MAX_TIMER_MS);
  timer = noContext.runInAsyncScope(startTimer, undefined, Math.max(wait, 1));
}

function startTimer(ms: number): NodeJS.Timeout {
  return setTimeout(checkAfterPolling, ms).unref();
}

/**
 * Checks after the loop has read its sockets: what arrived while the loop was blocked is not late. The time for which
 * it was blocked is subtracted as well, see `subtractStall`.
 */
function checkAfterPolling(): void {
  setImmediate(checkDueEntries);
}

function checkDueEntries(): void {
  const at = now();
  subtractStall(plannedAt, at);
  timer = null;
  plannedAt = Number.POSITIVE_INFINITY;
  checkedAt = at;
  const late: TimerEntry[] = [];
  let soonest = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    if (entry.dueAt <= at) late.push(entry);
    else if (entry.dueAt < soonest) soonest = entry.dueAt;
  }
  for (const entry of late) {
    // A check may end other calls, through what the application does in reaction.
    if (entry.isScheduled) checkEntry(entry, at);
    if (entry.isScheduled && entry.dueAt < soonest) soonest = entry.dueAt;
  }
  if (soonest < Number.POSITIVE_INFINITY) plan(soonest);
}

/**
 * Subtracts the time for which the event loop was blocked from the time of every entry: name lookups, connections and
 * responses all wait for the loop, each for a turn of its own, and their host is not late for that.
 */
function subtractStall(since: number, at: number): void {
  if (at - since < MIN_STALL_MS) return;
  for (const entry of entries) {
    entry.addIdleTime(at - Math.max(since, entry.startedAt));
  }
}

/** Checks an entry; what the application throws in reaction reaches the process, and ends no other call. */
function checkEntry(entry: TimerEntry, at: number): void {
  try {
    entry.onDue(at);
  } catch (error) {
    cancelTimeout(entry);
    process.nextTick(() => {
      throw error;
    });
  }
}
