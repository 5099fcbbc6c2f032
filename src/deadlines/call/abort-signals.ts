import { replace } from '../http/patch-method.js';
import { timerOfTurn, watchTimers } from './turn-timers.js';

/** What a signal by time says: the application waits as long as it likes. */
export const OWN_TIME = Number.POSITIVE_INFINITY;

/**
 * How long the application waits by itself, in milliseconds, for a call with this signal; 0: that is not known. A signal
 * aborts by time if it comes from `AbortSignal.timeout`, which Node marks by a symbol that only its name tells, or from
 * `AbortSignal.any` with such a one. One of a controller does if it was taken, or is listened to, in a turn in which a
 * timer was begun: so SDKs make their limits.
 */
function patienceOf(signal: AbortSignal): number {
  if (mark !== undefined && (signal as unknown as Record<symbol, unknown>)[mark] === true) {
    return OWN_TIME;
  }
  return patience.get(signal) ?? timerOfTurn();
}

/** Of signals that were made of others, or taken from a controller after a timer was begun. */
const patience = new WeakMap<AbortSignal, number>();

const mark = Object.getOwnPropertySymbols(AbortSignal.timeout(1)).find(
  ({ description }) => description === 'kTimeout',
);

/** Of the signals that were listened to in this turn: of the last one, and the longest of those before it. */
let last = 0;
let before = 0;

/** Whether there is anything to be asked for by `takePatience`. */
export function isSignalHeard(): boolean {
  return last > 0 || before > 0;
}

/**
 * How long the application waits by itself for the call that is begun now, as far as its signal tells: somebody has
 * begun to listen to it in this turn, and nobody has asked since. Most who take a signal for a call listen to it first;
 * there is no other way to see it in `fetch`, which listens to a signal of its own (`listensToOwn`) after that.
 */
export function takePatience(listensToOwn = false): number {
  const ms = listensToOwn && last !== OWN_TIME ? before : Math.max(before, last);
  forgetHeard();
  return ms;
}

function forgetHeard(): void {
  last = 0;
  before = 0;
}

/** A request that its maker may still be busy with. */
export interface Made {
  readonly isBeingMade: boolean;
  /** Its maker listens to a signal, and waits so long by itself. */
  hearPatience(ms: number): void;
}

let lastMade: Made | null = null;
/** `queueMicrotask` makes a resource of its own for each call, which costs several times as much. */
const turnEnds = Promise.resolve();

/** Others listen when they have made their request, as node-fetch does: in this turn, and before they end it. */
export function offerSignals(made: Made): void {
  if (lastMade === null) turnEnds.then(forgetLastMade);
  lastMade = made;
}

function forgetLastMade(): void {
  lastMade = null;
}

function hear(ms: number, options: unknown): void {
  // With options listen Node and undici, for a call that is yet to come.
  if (ms > 0 && lastMade?.isBeingMade && options === undefined) {
    lastMade.hearPatience(ms);
    lastMade = null;
    return;
  }
  if (ms === 0 && !isSignalHeard()) return;
  if (!isSignalHeard()) queueMicrotask(forgetHeard);
  before = Math.max(before, last);
  last = ms;
}

/** Hears of listeners to signals from now on. */
export function watchSignals(): void {
  watchTimers();
  replace(AbortSignal, 'any', (original) => {
    return function any(this: unknown, ...args: Parameters<typeof original>) {
      const made = Reflect.apply(original, this, args);
      const ms = Math.max(0, ...Array.from(args[0], patienceOf));
      if (ms > 0) patience.set(made, ms);
      return made;
    };
  });
  watchControllers();
  const inherited = AbortSignal.prototype.addEventListener;
  Object.defineProperty(AbortSignal.prototype, 'addEventListener', {
    configurable: true,
    enumerable: true,
    writable: true,
    value: function addEventListener(this: AbortSignal, ...args: Parameters<typeof inherited>) {
      if (args[0] === 'abort') hear(patienceOf(this), args[2]);
      return Reflect.apply(inherited, this, args);
    },
  });
}

function watchControllers(): void {
  const property = Object.getOwnPropertyDescriptor(AbortController.prototype, 'signal');
  const get = property?.get;
  if (get === undefined) return;
  const signal = {
    get signal(): AbortSignal {
      const taken = Reflect.apply(get, this, []);
      const ms = timerOfTurn();
      if (ms > 0 && !patience.has(taken)) patience.set(taken, ms);
      return taken;
    },
  };
  Object.defineProperty(AbortController.prototype, 'signal', {
    ...property,
    ...Object.getOwnPropertyDescriptor(signal, 'signal'),
    enumerable: property?.enumerable ?? true,
  });
}
