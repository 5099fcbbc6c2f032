import { performance } from 'node:perf_hooks';

// Kept from before the application is loaded: one that replaces clocks and timers for its tests does not stop deadlines.
export const now = performance.now.bind(performance);
export const { setTimeout, clearTimeout, setImmediate } = globalThis;
