import { patchMethod } from '../http/patch-method.js';
import { getTimerOfTurn, patchTimers } from './turn-timers.js';

/** The timeout of a signal that aborts after an unknown time. */
export const UNKNOWN_TIMEOUT = Number.POSITIVE_INFINITY;

/**
 * Finds the timeout that the application has given a signal, in milliseconds; 0: unknown. A signal aborts after a
 * time if it comes from `AbortSignal.timeout`, which Node marks by a symbol, or from `AbortSignal.any` with such a
 * signal. A controller's signal does if it was read, or a listener added, in a turn of the event loop in which a
 * timer was started: that is how SDKs implement their timeouts.
 */
function findSignalTimeout(signal: AbortSignal): number {
  if (kTimeout !== undefined && (signal as unknown as Record<symbol, unknown>)[kTimeout] === true) {
    return UNKNOWN_TIMEOUT;
  }
  return signalTimeouts.get(signal) ?? getTimerOfTurn();
}

/** Timeouts of combined signals, and of signals read from a controller after a timer was started. */
const signalTimeouts = new WeakMap<AbortSignal, number>();

const kTimeout = Object.getOwnPropertySymbols(AbortSignal.timeout(1)).find(
  ({ description }) => description === 'kTimeout',
);

/**
 * The timeouts of the signals that got a listener in this turn: that of the last one, and the longest of those before
 * it.
 */
let lastTimeout = 0;
let longestBefore = 0;

/** Whether `takeSignalTimeout` would find a signal. */
export function hasSignalTimeout(): boolean {
  return lastTimeout > 0 || longestBefore > 0;
}

/**
 * Takes the timeout of the signal that belongs to the call begun now: it got a listener in this turn, and no other
 * call has taken it. Most libraries add their listener before they begin the call. There is no other way to see a
 * signal passed to `fetch`, which then listens to a signal of its own as well (`listensToOwn`).
 */
export function takeSignalTimeout(listensToOwn = false): number {
  const ms =
    listensToOwn && lastTimeout !== UNKNOWN_TIMEOUT
      ? longestBefore
      : Math.max(longestBefore, lastTimeout);
  resetSignalTimeouts();
  return ms;
}

function resetSignalTimeouts(): void {
  lastTimeout = 0;
  longestBefore = 0;
}

/** A request that the library may still be building. */
export interface OpenRequest {
  readonly isOpen: boolean;
  /** Sets the timeout of a signal that got a listener after the request was made. */
  setSignalTimeout(ms: number): void;
}

let lastRequest: OpenRequest | null = null;
/** A promise: `queueMicrotask` allocates an asynchronous resource for each call, which costs several times as much. */
const endOfTurn = Promise.resolve();

/**
 * Offers a request to signals that get a listener later in this turn and before the request is ended: node-fetch adds
 * its listener then.
 */
export function awaitSignal(request: OpenRequest): void {
  if (lastRequest === null) endOfTurn.then(resetLastRequest);
  lastRequest = request;
}

function resetLastRequest(): void {
  lastRequest = null;
}

function recordListener(ms: number, options: unknown): void {
  // Node and undici pass options, and listen for a call that is still to come.
  if (ms > 0 && lastRequest?.isOpen && options === undefined) {
    lastRequest.setSignalTimeout(ms);
    lastRequest = null;
    return;
  }
  if (ms === 0 && !hasSignalTimeout()) return;
  if (!hasSignalTimeout()) queueMicrotask(resetSignalTimeouts);
  longestBefore = Math.max(longestBefore, lastTimeout);
  lastTimeout = ms;
}

/** Observes listeners of signals from now on. */
export function patchSignals(): void {
  patchTimers();
  patchMethod(AbortSignal, 'any', (original) => {
    return function any(this: unknown, ...args: Parameters<typeof original>) {
      const result = Reflect.apply(original, this, args);
      const ms = Math.max(0, ...Array.from(args[0], findSignalTimeout));
      if (ms > 0) signalTimeouts.set(result, ms);
      return result;
    };
  });
  patchControllers();
  const inherited = AbortSignal.prototype.addEventListener;
  Object.defineProperty(AbortSignal.prototype, 'addEventListener', {
    configurable: true,
    enumerable: true,
    writable: true,
    value: function addEventListener(this: AbortSignal, ...args: Parameters<typeof inherited>) {
      if (args[0] === 'abort') recordListener(findSignalTimeout(this), args[2]);
      return Reflect.apply(inherited, this, args);
    },
  });
}

function patchControllers(): void {
  const property = Object.getOwnPropertyDescriptor(AbortController.prototype, 'signal');
  const get = property?.get;
  if (get === undefined) return;
  const signal = {
    get signal(): AbortSignal {
      const result = Reflect.apply(get, this, []);
      const ms = getTimerOfTurn();
      if (ms > 0 && !signalTimeouts.has(result)) signalTimeouts.set(result, ms);
      return result;
    },
  };
  Object.defineProperty(AbortController.prototype, 'signal', {
    ...property,
    ...Object.getOwnPropertyDescriptor(signal, 'signal'),
    enumerable: property?.enumerable ?? true,
  });
}
