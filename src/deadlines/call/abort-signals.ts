import { now } from '../../outbound/clock.js';
import { patchMethod } from '../patch-method.js';
import { getTimerOfTurn, mayEndCall, patchTimers } from './turn-timers.js';

/** The timeout of a signal that aborts after an unknown time. */
export const UNKNOWN_TIMEOUT = Number.POSITIVE_INFINITY;

/** The timeout of a signal, and when it is over: a signal that has not aborted then had no such timeout. */
interface SignalTimeout {
  ms: number;
  endsAt: number;
}

/** By how much a timer may be late. */
const MAX_LATENESS_MS = 1000;

/** Timeouts of combined signals, and of signals read from a controller after a timer was started. */
const signalTimeouts = new WeakMap<AbortSignal, SignalTimeout>();

const kTimeout = Object.getOwnPropertySymbols(AbortSignal.timeout(1)).find(
  ({ description }) => description === 'kTimeout',
);

/**
 * Finds the timeout that the application has given a signal, in milliseconds; 0: unknown. A signal aborts after a
 * time if it comes from `AbortSignal.timeout`, which Node marks by a symbol, or from `AbortSignal.any` with such a
 * signal. A controller's signal does if it was read, or a listener added, in a turn of the event loop in which a
 * timer was started that may end a call: that is how SDKs implement their timeouts.
 */
export function findSignalTimeout(signal: AbortSignal): number {
  if (kTimeout !== undefined && (signal as unknown as Record<symbol, unknown>)[kTimeout] === true) {
    return UNKNOWN_TIMEOUT;
  }
  const known = signalTimeouts.get(signal);
  return known !== undefined && now() <= known.endsAt ? known.ms : getTimerOfTurn();
}

function setSignalTimeout(signal: AbortSignal, ms: number): void {
  signalTimeouts.set(signal, { ms, endsAt: now() + ms + MAX_LATENESS_MS });
}

/**
 * Who listens to a signal, as the options of the listener tell: none (axios, node-fetch), `once` (undici 5 to 7, got,
 * AWS), or those of Node's `addAbortListener` (undici 8; `node:http`, whose signals are read from its options).
 */
type ListenerKind = 'plain' | 'once' | 'node';

/** A listener that was added in this turn, and that no call has taken. */
interface Listener {
  kind: ListenerKind;
  /** The timeout of its signal. */
  ms: number;
}

/** Which listeners may be those of a library's call. */
const KINDS: Record<'http' | 'undici', ListenerKind[]> = {
  http: ['plain', 'once'],
  undici: ['once', 'node'],
};

let listeners: Listener[] = [];

/** Whether `takeSignalTimeout` would find a signal of a call of undici. */
export function hasSignalTimeout(): boolean {
  return listeners.length > 0 || lastClaim !== null;
}

/**
 * Takes the timeout of the signal that belongs to the call begun now: it got a listener in this turn, and no other
 * call has taken it. Most libraries add their listener before they begin the call. There is no other way to see a
 * signal passed to `fetch`, which then listens to a signal of its own as well (`listensToOwn`).
 */
export function takeSignalTimeout(by: 'http' | 'undici', listensToOwn = false): number {
  if (!hasSignalTimeout()) return 0;
  const found = listeners.filter(({ kind }) => KINDS[by].includes(kind)).map(({ ms }) => ms);
  if (listensToOwn && found.at(-1) !== UNKNOWN_TIMEOUT) found.pop();
  listeners = [];
  const ms = Math.max(0, ...found);
  return by === 'undici' && ms === 0 ? takeClaim() : ms;
}

function resetListeners(): void {
  listeners = [];
}

/** A request that the library may still be building. */
export interface OpenRequest {
  readonly isOpen: boolean;
  /** Adds the timeout of a signal, or of a timer, that the library has set after it made the request. */
  addTimeout(ms: number): void;
  /** Takes back the timeouts that were added. */
  removeTimeouts(): void;
}

let lastRequest: OpenRequest | null = null;
/** The signal that the last request was given: the first one that gets a listener. */
let lastClaim: (Listener & { request: OpenRequest }) | null = null;
/** A promise: `queueMicrotask` allocates an asynchronous resource for each call, which costs several times as much. */
const endOfTurn = Promise.resolve();

/**
 * Offers a request to signals that get a listener, and to timers that are started, later in this turn and before the
 * request is ended: node-fetch and the AWS SDK set their timeouts then.
 */
export function awaitTimeouts(request: OpenRequest): void {
  if (lastRequest === null) endOfTurn.then(resetLastRequest);
  lastRequest = request;
  lastClaim = null;
}

function resetLastRequest(): void {
  lastRequest = null;
  lastClaim = null;
}

/** Takes the signal that the last request was given, if it is that of a call of undici which begins next. */
function takeClaim(): number {
  if (lastClaim?.kind !== 'once' || !lastClaim.request.isOpen) return 0;
  const { request, ms } = lastClaim;
  lastClaim = null;
  request.removeTimeouts();
  return ms;
}

function recordListener(ms: number, options: unknown): void {
  const kind = findKind(options);
  if (ms > 0 && kind !== 'node' && lastRequest?.isOpen && lastClaim === null) {
    lastRequest.addTimeout(ms);
    lastClaim = { kind, ms, request: lastRequest };
    return;
  }
  if (ms === 0 && !hasSignalTimeout()) return;
  if (listeners.length === 0) queueMicrotask(resetListeners);
  listeners.push({ kind, ms });
}

function findKind(options: unknown): ListenerKind {
  if (typeof options !== 'object' || options === null) return 'plain';
  return Object.getOwnPropertySymbols(options).length > 0 ? 'node' : 'once';
}

function recordTimer(ms: number, callback: unknown): void {
  if (lastRequest?.isOpen && mayEndCall(callback)) lastRequest.addTimeout(ms);
}

/** Observes listeners of signals from now on. */
export function patchSignals(): void {
  patchTimers(recordTimer);
  patchMethod(AbortSignal, 'any', (original) => {
    return function any(this: unknown, ...args: Parameters<typeof original>) {
      const result = Reflect.apply(original, this, args);
      const ms = Math.max(0, ...Array.from(args[0], findSignalTimeout));
      if (ms > 0) setSignalTimeout(result, ms);
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
      if (ms > 0) setSignalTimeout(result, ms);
      return result;
    },
  };
  Object.defineProperty(AbortController.prototype, 'signal', {
    ...property,
    ...Object.getOwnPropertyDescriptor(signal, 'signal'),
    enumerable: property?.enumerable ?? true,
  });
}
