import timers from 'node:timers';
import { patchMethod } from '../http/patch-method.js';

/**
 * Minimum delay of a timer that counts, in milliseconds. A shorter one fires before any limit, and undici's own clock
 * ticks more often, too.
 */
const MIN_TIMER_MS = 1000;

let longestMs = 0;
/** A promise: `queueMicrotask` allocates an asynchronous resource for each call, which costs several times as much. */
const endOfTurn = Promise.resolve();

/**
 * Returns the longest delay of the timers started in this turn of the event loop, in milliseconds; 0: none that
 * counts.
 */
export function getTimerOfTurn(): number {
  return longestMs;
}

/** Observes timers from now on; `onTimer` is called with the delay of each that counts. */
export function patchTimers(onTimer: (ms: number) => void): void {
  patchMethod(globalThis, 'setTimeout', (original) => {
    return function setTimeout(this: unknown, ...args: unknown[]) {
      const ms = Number(args[1]);
      if (ms > MIN_TIMER_MS) {
        if (longestMs === 0) endOfTurn.then(reset);
        longestMs = Math.max(longestMs, ms);
        onTimer(ms);
      }
      return Reflect.apply(original, this, args);
    } as typeof original;
  });
  patchMethod(timers, 'setTimeout', () => globalThis.setTimeout);
}

function reset(): void {
  longestMs = 0;
}
