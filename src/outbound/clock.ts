import { performance } from 'node:perf_hooks';

// Kept from before the application is loaded: one that replaces clocks and timers for its tests does not stop deadlines.
export const now = performance.now.bind(performance);
/** Of Node's timers, in milliseconds; a longer one would be over at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;
export const { setTimeout, clearTimeout, setImmediate } = globalThis;
