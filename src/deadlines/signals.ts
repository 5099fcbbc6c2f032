import { replace } from './replace.js';

/**
 * Whether a signal aborts by time: it comes from `AbortSignal.timeout`, which Node marks by a symbol that only its name
 * tells, or from `AbortSignal.any` with such a one.
 */
function isTimed(signal: AbortSignal): boolean {
  if (mark !== undefined && (signal as unknown as Record<symbol, unknown>)[mark] === true) {
    return true;
  }
  return ofTimed.has(signal);
}

/** Signals of `AbortSignal.any` with one that aborts by time. */
const ofTimed = new WeakSet<AbortSignal>();

const mark = Object.getOwnPropertySymbols(AbortSignal.timeout(1)).find(
  ({ description }) => description === 'kTimeout',
);

let isHeard = false;

/**
 * Whether somebody has begun to listen to a signal that aborts by time just now: in this turn, and nobody has asked
 * since. Most who take a signal for a call listen to it first; there is no other way to see it in `fetch`.
 */
export function takeTimedSignal(): boolean {
  const was = isHeard;
  isHeard = false;
  return was;
}

/** A request that its maker may still be busy with. */
export interface Made {
  readonly isBeingMade: boolean;
  /** Its maker listens to a signal that aborts by time. */
  hearTimedSignal(): void;
}

let lastMade: Made | null = null;
/** `queueMicrotask` makes a resource of its own for each call, which costs several times as much. */
const turnEnds = Promise.resolve();

/** Others listen when they have made their request, as node-fetch does: in this turn, and before they end it. */
export function offerTimedSignals(made: Made): void {
  if (lastMade === null) turnEnds.then(forgetLastMade);
  lastMade = made;
}

function forgetLastMade(): void {
  lastMade = null;
}

function hear(options: unknown): void {
  // With options listen Node and undici, for a call that is yet to come.
  if (lastMade?.isBeingMade && options === undefined) {
    lastMade.hearTimedSignal();
    lastMade = null;
    return;
  }
  if (!isHeard) queueMicrotask(takeTimedSignal);
  isHeard = true;
}

/** Hears of listeners to signals from now on. */
export function watchSignals(): void {
  replace(AbortSignal, 'any', (original) => {
    return function any(this: unknown, ...args: Parameters<typeof original>) {
      const made = Reflect.apply(original, this, args);
      if (Array.from(args[0]).some(isTimed)) ofTimed.add(made);
      return made;
    };
  });
  const inherited = AbortSignal.prototype.addEventListener;
  Object.defineProperty(AbortSignal.prototype, 'addEventListener', {
    configurable: true,
    enumerable: true,
    writable: true,
    value: function addEventListener(this: AbortSignal, ...args: Parameters<typeof inherited>) {
      if (args[0] === 'abort' && isTimed(this)) hear(args[2]);
      return Reflect.apply(inherited, this, args);
    },
  });
}
