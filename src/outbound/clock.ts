import { performance } from 'node:perf_hooks';

// Taken before the application is loaded: fake clocks and timers of its tests do not stop deadlines.
export const now = performance.now.bind(performance);
/** Maximum delay of Node's timers, in milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
export const { setTimeout, clearTimeout, setImmediate } = globalThis;
