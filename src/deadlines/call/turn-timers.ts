import timers from 'node:timers';
import { patchMethod } from '../patch-method.js';

/**
 * Minimum delay of a timer that counts, in milliseconds. A shorter one fires before any limit, and undici's own clock
 * ticks more often, too.
 */
const MIN_TIMER_MS = 1000;

/** What the source of a function says that ends a call: `controller.abort()`, `reject(new TimeoutError())`. */
const ENDING = /abort|cancel|destroy|reject|(?<!set|clear)time[-_ ]?out|timed out/i;

interface Timer {
  ms: number;
  callback: unknown;
  /** What Node returned; `_destroyed` once it has fired or was cleared. */
  timeout: { _destroyed?: boolean };
}

/** The timers started in this turn that nobody has asked for. */
let unread: Timer[] = [];
let longestMs = 0;
let isInTurn = false;
/** A promise: `queueMicrotask` allocates an asynchronous resource for each call, which costs several times as much. */
const endOfTurn = Promise.resolve();

/**
 * Returns the longest delay of the timers started in this turn of the event loop that may end a call, in milliseconds;
 * 0: none that counts.
 */
export function getTimerOfTurn(): number {
  for (const { ms, callback, timeout } of unread) {
    if (ms > longestMs && timeout._destroyed !== true && mayEndCall(callback)) longestMs = ms;
  }
  unread = [];
  return longestMs;
}

/**
 * Whether the function of a timer may be the timeout of a call, and not a watchdog or a task of the application: its
 * source is all that tells them apart. That of a bound function is hidden; its name is not.
 */
export function mayEndCall(callback: unknown): boolean {
  if (typeof callback !== 'function') return false;
  return ENDING.test(callback.name) || ENDING.test(Function.prototype.toString.call(callback));
}

/** Observes timers from now on; `onTimer` is called with each that is long enough to count. */
export function patchTimers(onTimer: (ms: number, callback: unknown) => void): void {
  patchMethod(globalThis, 'setTimeout', (original) => {
    return function setTimeout(this: unknown, ...args: unknown[]) {
      const [callback, delay] = args;
      const ms = Number(delay);
      const timeout = Reflect.apply(original, this, args);
      if (ms > MIN_TIMER_MS) {
        if (!isInTurn) endOfTurn.then(reset);
        isInTurn = true;
        unread.push({ ms, callback, timeout });
        onTimer(ms, callback);
      }
      return timeout;
    } as typeof original;
  });
  patchMethod(timers, 'setTimeout', () => globalThis.setTimeout);
}

function reset(): void {
  unread = [];
  longestMs = 0;
  isInTurn = false;
}
