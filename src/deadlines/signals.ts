/**
 * Whether a signal aborts by time: it comes from `AbortSignal.timeout`, or from `AbortSignal.any` with one of these.
 * Node marks both, by a symbol that only its name tells.
 */
function isTimed(signal: AbortSignal): boolean {
  return mark !== undefined && (signal as unknown as Record<symbol, unknown>)[mark] === true;
}

const mark = Object.getOwnPropertySymbols(AbortSignal.timeout(1)).find(
  ({ description }) => description === 'kTimeout',
);

let isHeard = false;

/**
 * Whether somebody has begun to listen to a signal that aborts by time just now: in this turn, and nobody has asked
 * since. Whoever takes a signal for a call listens to it first; there is no other way to see it in `fetch`.
 */
export function takeTimedSignal(): boolean {
  const was = isHeard;
  isHeard = false;
  return was;
}

/** Hears of listeners to signals from now on. */
export function watchSignals(): void {
  const inherited = AbortSignal.prototype.addEventListener;
  Object.defineProperty(AbortSignal.prototype, 'addEventListener', {
    configurable: true,
    enumerable: true,
    writable: true,
    value: function addEventListener(this: AbortSignal, ...args: Parameters<typeof inherited>) {
      if (args[0] === 'abort' && isTimed(this)) {
        if (!isHeard) queueMicrotask(takeTimedSignal);
        isHeard = true;
      }
      return Reflect.apply(inherited, this, args);
    },
  });
}
