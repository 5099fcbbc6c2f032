import timers from 'node:timers';
import { replace } from '../http/patch-method.js';

/** In milliseconds: whoever aborts a call sooner does so before a limit of ours. undici's own clock ticks more often, too. */
const SHORTEST = 1000;

let longest = 0;
/** `queueMicrotask` makes a resource of its own for each call, which costs several times as much. */
const turnEnds = Promise.resolve();

/** The longest timer, in milliseconds, that was begun in this turn; 0: none that is long enough to matter. */
export function timerOfTurn(): number {
  return longest;
}

/** Hears of timers from now on. */
export function watchTimers(): void {
  replace(globalThis, 'setTimeout', (original) => {
    return function setTimeout(this: unknown, ...args: unknown[]) {
      const ms = Number(args[1]);
      if (ms > SHORTEST) {
        if (longest === 0) turnEnds.then(forget);
        longest = Math.max(longest, ms);
      }
      return Reflect.apply(original, this, args);
    } as typeof original;
  });
  replace(timers, 'setTimeout', () => globalThis.setTimeout);
}

function forget(): void {
  longest = 0;
}
