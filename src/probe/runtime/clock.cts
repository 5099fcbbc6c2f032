import { performance } from 'node:perf_hooks';

// Stored before the application can replace them, as tests with fake timers do.
const { setTimeout, setInterval, setImmediate } = globalThis;
export const timers = { setTimeout, setInterval, setImmediate };
export const nextTick = process.nextTick.bind(process);
/** A random number from 0 to 1, not of a generator that the application has seeded. */
export const { random } = Math;

/** Milliseconds on this process's clock. */
export const now = performance.now.bind(performance);

/** Runs the callback at intervals, without keeping the process alive. */
export function every(ms: number, callback: () => void): NodeJS.Timeout {
  return timers.setInterval(ignoreErrors(callback), ms).unref();
}

/** Waits for some time, without keeping the process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.setTimeout(resolve, Math.max(0, ms)).unref();
  });
}

/**
 * Runs the callback at the end of the loop's iteration, if there is one: it neither keeps the loop alive nor wakes it.
 */
export function afterPoll(callback: () => void): void {
  timers.setImmediate(ignoreErrors(callback)).unref();
}

/** Wraps a function so that its exceptions are ignored: a failure of the probe must not affect the application. */
export function ignoreErrors<A extends unknown[]>(
  work: (...args: A) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      work(...args);
    } catch {
      // Whatever it would have counted is not counted.
    }
  };
}

/** Converts a time to the clock of `process.hrtime`. */
export function toMonotonic(ms: number): number {
  return ms + origin;
}

const [seconds, nanoseconds] = process.hrtime();
const origin = seconds * 1000 + nanoseconds / 1e6 - now();
